// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace coppice {

/// Length in bytes of the well-formed UTF-8 sequence (RFC 3629) that starts at `at`; 0 if none does.
[[nodiscard]] std::size_t utf8SequenceLength(std::string_view text, std::size_t at);

/// A C0, DEL or C1 control character starts at `at`. @pre at < text.size()
[[nodiscard]] bool isControlCharacter(std::string_view text, std::size_t at);

/// The text between double quotes for a message: control characters, quotes, backslashes and ill-formed bytes escaped,
/// cut after 64 bytes. Untrusted input is shown through this, so that it cannot garble a terminal or a log.
[[nodiscard]] std::string inQuotes(std::string_view text);

}  // namespace coppice
