// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

namespace coppice {

std::size_t utf8SequenceLength(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t index) {
    return index < text.size() ? static_cast<unsigned char>(text[index]) : 0U;
  };
  const auto continues = [&](std::size_t index, unsigned low = 0x80, unsigned high = 0xbf) {
    return byte(index) >= low && byte(index) <= high;
  };
  if (at >= text.size()) {
    return 0;
  }
  const unsigned first = byte(at);
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xc2 && first <= 0xdf) {
    return continues(at + 1) ? 2 : 0;
  }
  if (first >= 0xe0 && first <= 0xef) {
    return continues(at + 1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf) && continues(at + 2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    return continues(at + 1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf) && continues(at + 2) &&
                   continues(at + 3)
               ? 4
               : 0;
  }
  return 0;
}

bool isControlCharacter(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const bool isC1 = first == 0xc2 && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) >= 0x80 &&
                    static_cast<unsigned char>(text[at + 1]) < 0xa0;
  return first < 0x20 || first == 0x7f || isC1;
}

std::string inQuotes(std::string_view text) {
  constexpr std::size_t kShown = 64;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string result = "\"";
  std::size_t at = 0;
  while (at < text.size() && at < kShown) {
    const std::size_t length = utf8SequenceLength(text, at);
    if (length == 0 || isControlCharacter(text, at)) {
      const auto byte = static_cast<unsigned char>(text[at]);
      result += "\\x";
      result += kHex[byte >> 4];
      result += kHex[byte & 0xf];
      // The second byte of a C1 control is a stray continuation byte by now and is escaped in the next round.
      ++at;
      continue;
    }
    if (text[at] == '"' || text[at] == '\\') {
      result += '\\';
    }
    result += text.substr(at, length);
    at += length;
  }
  return result + (at < text.size() ? "\"..." : "\"");
}

}  // namespace coppice
