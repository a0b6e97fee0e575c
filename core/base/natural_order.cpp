// SPDX-License-Identifier: Apache-2.0
#include "base/natural_order.hpp"

#include <cstddef>

namespace coppice {
namespace {

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

/// The digits of the number at `at` without leading zeros. Moves `at` behind it.
std::string_view takeNumber(std::string_view text, std::size_t& at) {
  while (at < text.size() && text[at] == '0') {
    ++at;
  }
  const std::size_t start = at;
  while (at < text.size() && isDigit(text[at])) {
    ++at;
  }
  return text.substr(start, at - start);
}

}  // namespace

bool naturalLess(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!isDigit(a[i]) || !isDigit(b[j])) {
      if (a[i] != b[j]) {
        return a[i] < b[j];
      }
      ++i;
      ++j;
      continue;
    }
    const std::string_view left = takeNumber(a, i);
    const std::string_view right = takeNumber(b, j);
    if (left.size() != right.size()) {
      return left.size() < right.size();
    }
    if (left != right) {
      return left < right;
    }
  }
  const bool isLeftDone = i == a.size();
  const bool isRightDone = j == b.size();
  return isLeftDone == isRightDone ? a < b : isLeftDone;
}

}  // namespace coppice
