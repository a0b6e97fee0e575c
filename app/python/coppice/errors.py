# SPDX-License-Identifier: Apache-2.0
"""What goes wrong."""

from __future__ import annotations


class Error(Exception):
    """A failure with its place and a way out.

    Attributes:
        message: what happened.
        fix: what helps; may be empty.
        code: for programs to branch on: bad_usage, bad_input, invalid_fabric, infeasible, unbalanced, overflow,
            cancelled, limit, verification, io, unavailable or internal.
        where: the file with line and column, or the element; may be empty.
    """

    def __init__(self, message: str, fix: str = "", code: str = "bad_usage", where: str = "", text: str = "") -> None:
        super().__init__(text or message + ("; " + fix if fix else ""))
        self.message = message
        self.fix = fix
        self.code = code
        self.where = where
