// SPDX-License-Identifier: Apache-2.0
#include "base/file_name.hpp"

namespace coppice {

std::string asFileName(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (isLetter || c == '_' || (c == '.' && !name.empty())) {
      name += c;
    } else if (name.empty() || name.back() != '-') {
      name += '-';
    }
  }
  return name;
}

}  // namespace coppice
