// SPDX-License-Identifier: Apache-2.0
#include "remote/quoting.hpp"

namespace coppice::remote {

std::string commandText(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + shellWord(word);
  }
  return text;
}

std::string commentText(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += static_cast<unsigned char>(c) < 0x20U || c == 0x7F ? ' ' : c;
  }
  return result;
}

}  // namespace coppice::remote
