// SPDX-License-Identifier: Apache-2.0
#include "remote/quoting.hpp"

namespace coppice::remote {

std::string sftpWord(std::string_view path) {
  std::string result = "\"";
  for (const char c : path) {
    if (c == '\n' || c == '\r' || c == '\0') {
      result += '?';
      continue;
    }
    if (std::string_view("\"\\*?[").find(c) != std::string_view::npos) {
      result += '\\';
    }
    result += c;
  }
  return result + "\"";
}

std::string commentText(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += static_cast<unsigned char>(c) < 0x20U || c == 0x7F ? ' ' : c;
  }
  return result;
}

}  // namespace coppice::remote
