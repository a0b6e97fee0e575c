// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/device_plan.hpp"

/// How two elements are combined, for the device and the host. The results are those of engine/kernels.hpp: floats
/// rounded once, half and bfloat16 computed in float, integers wrapping around.
namespace coppice::executor::cuda {

template <Combine kCombine, typename Value>
COPPICE_GPU inline Value combineValues(Value a, Value b) {
  if constexpr (kCombine == Combine::sum) {
    return a + b;
  } else if constexpr (kCombine == Combine::prod) {
    return a * b;
  } else if constexpr (kCombine == Combine::min) {
    return b < a ? b : a;
  } else {
    return a < b ? b : a;
  }
}

/// Computed as it is stored: float, double, and integers of at most 64 bits.
template <typename T>
struct PlainElement {
  using Stored = T;

  template <Combine kCombine>
  COPPICE_GPU static T apply(T a, T b) {
    constexpr bool kWraps = std::is_integral_v<T> && (kCombine == Combine::sum || kCombine == Combine::prod);
    if constexpr (kWraps && sizeof(T) < sizeof(std::uint32_t)) {
      return static_cast<T>(combineValues<kCombine>(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)));
    } else if constexpr (kWraps) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(combineValues<kCombine>(static_cast<Unsigned>(a), static_cast<Unsigned>(b)));
    } else {
      return combineValues<kCombine>(a, b);
    }
  }
  /// The end of avg; integers lose their fraction.
  COPPICE_GPU static T divide(T value, int divisor) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::int64_t>(value) / divisor);
    } else {
      return value / static_cast<T>(divisor);
    }
  }
};

/// Stored in 16 bits, computed in float. `Convert` has toFloat(uint16) and fromFloat(float), to nearest even.
template <typename Convert>
struct ShortFloatElement {
  using Stored = std::uint16_t;

  template <Combine kCombine>
  COPPICE_GPU static std::uint16_t apply(std::uint16_t a, std::uint16_t b) {
    return Convert::fromFloat(combineValues<kCombine>(Convert::toFloat(a), Convert::toFloat(b)));
  }
  COPPICE_GPU static std::uint16_t divide(std::uint16_t value, int divisor) {
    return Convert::fromFloat(Convert::toFloat(value) / static_cast<float>(divisor));
  }
};

}  // namespace coppice::executor::cuda
