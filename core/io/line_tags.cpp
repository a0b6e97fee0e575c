// SPDX-License-Identifier: Apache-2.0
#include "io/line_tags.hpp"

#include <algorithm>

#include "base/ascii.hpp"

namespace coppice::io {
namespace {

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

bool isOpening(char c) {
  return c == '[' || c == '(';
}

bool isClosing(char c) {
  return c == ']' || c == ')';
}

bool isWordLetter(char c) {
  return isAlphanumeric(c) || c == '_' || c == '-' || c == '.';
}

}  // namespace

std::string tagShape(std::string_view tag) {
  std::string shape;
  int depth = 0;
  for (std::size_t at = 0; at < tag.size();) {
    const char c = tag[at];
    depth += isOpening(c) ? 1 : isClosing(c) && depth > 0 ? -1 : 0;
    std::size_t end = at;
    while (end < tag.size() && (depth > 0 ? isWordLetter(tag[end]) : isDigit(tag[end]))) {
      ++end;
    }
    if (end == at) {
      shape += c;
      ++at;
      continue;
    }
    const std::string_view word = tag.substr(at, end - at);
    shape += std::all_of(word.begin(), word.end(), isDigit) ? kAnyNumber : kAnyWord;
    at = end;
  }
  return shape;
}

std::size_t tagLength(std::string_view text, std::string_view shape) {
  std::size_t at = 0;
  for (const char c : shape) {
    const std::size_t begin = at;
    if (c == kAnyNumber || c == kAnyWord) {
      while (at < text.size() && (c == kAnyNumber ? isDigit(text[at]) : isWordLetter(text[at]))) {
        ++at;
      }
    } else if (at < text.size() && text[at] == c) {
      ++at;
    }
    if (at == begin) {
      return 0;
    }
  }
  return at;
}

std::string_view withoutLeadingTag(std::string_view line, const std::vector<std::string>& shapes) {
  for (const std::string& shape : shapes) {
    if (const std::size_t size = tagLength(line, shape); size > 0) {
      return line.substr(size);
    }
  }
  for (const std::string_view end : {std::string_view("]<stdout>:"), std::string_view("]<stderr>:")}) {
    if (const std::size_t at = line.find(end); line.starts_with('[') && at != std::string_view::npos) {
      return line.substr(at + end.size());
    }
  }
  return line;
}

std::string withoutColours(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\x1b') {
      plain += text[at++];
      continue;
    }
    ++at;
    if (at < text.size() && text[at] == '[') {
      ++at;
      while (at < text.size() && (isDigit(text[at]) || text[at] == ';' || text[at] == '?')) {
        ++at;
      }
      at += at < text.size() && text[at] != '\n' ? 1 : 0;
    }
  }
  return plain;
}

}  // namespace coppice::io
