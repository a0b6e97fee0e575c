// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace coppice {

/// * in the pattern stands for any characters, also none; all others for what `isSame` says of the pattern's character
/// and the name's.
template <typename Same>
[[nodiscard]] bool matchesWildcard(std::string_view pattern, std::string_view name, Same isSame) {
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  std::size_t p = 0;
  std::size_t n = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && isSame(pattern[p], name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      // The last star takes one character more.
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

/// All others stand for themselves.
[[nodiscard]] inline bool matchesWildcard(std::string_view pattern, std::string_view name) {
  return matchesWildcard(pattern, name, [](char a, char b) { return a == b; });
}

}  // namespace coppice
