// SPDX-License-Identifier: Apache-2.0
#include "remote/quoting.hpp"

#include <algorithm>

namespace coppice::remote {

std::string shellWord(std::string_view text) {
  const bool isPlain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-/:=,+@%").find(c) != std::string_view::npos;
  });
  if (isPlain) {
    return std::string(text);
  }
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else if (c != '\0') {
      result += c;
    }
  }
  return result + "'";
}

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
