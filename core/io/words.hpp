// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace coppice::io {

/// The words of a line, between blanks.
inline std::vector<std::string_view> wordsOf(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r\v\f";
  std::vector<std::string_view> words;
  std::size_t at = line.find_first_not_of(kBlank);
  while (at != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlank, end);
  }
  return words;
}

/// The lines of a text, without their ends.
inline std::vector<std::string_view> linesIn(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace coppice::io
