// SPDX-License-Identifier: Apache-2.0
#include "base/file_name.hpp"

#include "base/ascii.hpp"

namespace coppice {

std::string asFileName(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (isAlphanumeric(c) || c == '_' || (c == '.' && !name.empty())) {
      name += c;
    } else if (name.empty() || name.back() != '-') {
      name += '-';
    }
  }
  return name;
}

}  // namespace coppice
