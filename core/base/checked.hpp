// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>

namespace coppice {

__extension__ typedef __int128 Int128;

/// Thrown by checked arithmetic inside core; every public entry turns it into ErrorCode::overflow.
class OverflowError : public std::overflow_error {
public:
  explicit OverflowError(const char* what) : std::overflow_error(what) {}
};

template <typename T>
[[nodiscard]] T checkedAdd(T a, T b) {
  T sum{};
  if (__builtin_add_overflow(a, b, &sum)) {
    throw OverflowError("sum leaves the exact integer range");
  }
  return sum;
}

template <typename T>
[[nodiscard]] T checkedSub(T a, T b) {
  T difference{};
  if (__builtin_sub_overflow(a, b, &difference)) {
    throw OverflowError("difference leaves the exact integer range");
  }
  return difference;
}

template <typename T>
[[nodiscard]] T checkedMul(T a, T b) {
  T product{};
  if (__builtin_mul_overflow(a, b, &product)) {
    throw OverflowError("product leaves the exact integer range");
  }
  return product;
}

/// Narrow a 128-bit value to 64 bits, or throw OverflowError.
[[nodiscard]] inline std::int64_t narrow64(Int128 value) {
  if (value > std::numeric_limits<std::int64_t>::max() || value < std::numeric_limits<std::int64_t>::min()) {
    throw OverflowError("value leaves the 64-bit range");
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace coppice
