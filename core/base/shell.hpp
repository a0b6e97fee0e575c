// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace coppice {

/// One word of a POSIX shell that stands for exactly these bytes (without NUL, which no word can hold): as it is where
/// it is plain, else in single quotes.
[[nodiscard]] std::string shellWord(std::string_view text);

}  // namespace coppice
