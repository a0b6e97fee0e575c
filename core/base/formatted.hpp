// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>

namespace coppice {

/// A short text as snprintf writes it, cut after 255 bytes.
template <typename... Values>
[[nodiscard]] std::string formatted(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace coppice
