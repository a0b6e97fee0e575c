// SPDX-License-Identifier: Apache-2.0
#include "base/one_line.hpp"

#include "base/text.hpp"

namespace coppice {

std::string oneLine(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string line;
  line.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!isControlCharacter(text, at)) {
      line += text[at];
      continue;
    }
    if (text[at] == '\n') {
      line += "\\n";
      continue;
    }
    const bool isC1 = static_cast<unsigned char>(text[at]) == 0xc2;
    const auto byte = static_cast<unsigned char>(text[isC1 ? ++at : at]);
    line += "\\x";
    line += kHex[byte >> 4];
    line += kHex[byte & 0xf];
  }
  return line;
}

}  // namespace coppice
