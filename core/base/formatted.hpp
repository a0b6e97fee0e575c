// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>
#include <type_traits>

namespace coppice {

/// A short text as snprintf writes it, cut after 255 bytes.
template <typename... Values>
[[nodiscard]] std::string formatted(const char* format, Values... values) {
  static_assert((std::is_scalar_v<Values> && ...), "pass numbers and pointers");
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

/// 2.345 as "2.35" with two places.
[[nodiscard]] inline std::string withPlaces(double value, int places) {
  return formatted("%.*f", places, value);
}

}  // namespace coppice
