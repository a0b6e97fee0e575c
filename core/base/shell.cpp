// SPDX-License-Identifier: Apache-2.0
#include "base/shell.hpp"

namespace coppice {

std::string shellWord(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/:=,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else if (c != '\0') {
      word += c;
    }
  }
  return word + "'";
}

}  // namespace coppice
