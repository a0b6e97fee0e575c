# SPDX-License-Identifier: Apache-2.0
"""Coppice: the exact best throughput of collective communication on a GPU cluster, and schedules that reach it.

    >>> import coppice
    >>> fabric = coppice.preset("dgx-a100", boxes=2)
    >>> coppice.optimum(fabric, "allgather").algbw
    Fraction(1040, 3)
    >>> schedule = coppice.generate(fabric, "allgather")
    >>> coppice.verify(schedule).ok
    True
    >>> xml = coppice.export(schedule, target="msccl")

Rates are exact fractions.Fraction in GB/s (10^9 bytes a second); simulated times and rates are floats.
"""

from ._core import version as __version__
from .errors import Error
from .fabric import Fabric, Finding, Link, Node, Parameter, Preset, load, preset, presets
from .questions import (Cut, Failure, Group, GroupsOptimum, Moved, Optimum, PlainSwitches, Price, PricedLink, TrainingPlan,
                        TreeBound, n_minus_one, optimum, optimum_of_groups, prices, train)
from .schedule import (Edge, Method, Option, Row, Schedule, Transfer, Tree, Verdict, as_array, export, generate,
                       generate_groups, methods, read_schedule, simulate, verify)

__all__ = [
    "Cut", "Edge", "Error", "Fabric", "Failure", "Finding", "Group", "GroupsOptimum", "Link", "Method", "Moved", "Node", "Optimum", "Option",
    "Parameter", "PlainSwitches", "Preset", "Price", "PricedLink", "Row", "Schedule", "TrainingPlan", "Transfer", "Tree", "TreeBound", "Verdict",
    "as_array", "export", "generate", "generate_groups", "load", "methods", "n_minus_one", "optimum", "optimum_of_groups", "preset", "presets", "prices",
    "read_schedule", "simulate", "train", "verify", "__version__",
]
