// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <ratio>
#include <type_traits>

#include "base/rational.hpp"
#include "base/units.hpp"

/// Conversions between exact times never truncate, as those of floating point.
template <>
struct std::chrono::treat_as_floating_point<coppice::Rational> : std::true_type {};

namespace coppice {

/// Time as simulation and measurement give it.
using Microseconds = std::chrono::duration<double, std::micro>;
/// Time, exactly.
using ExactMicroseconds = std::chrono::duration<Rational, std::micro>;

/// How long the bytes take at that bandwidth. Throws OverflowError.
[[nodiscard]] inline ExactMicroseconds transferTime(const Rational& bytes, const Bandwidth& bandwidth) {
  return ExactMicroseconds(bytes / Rational(1000) / bandwidth.gigabytesPerSecond());
}
/// The bandwidth that moves the bytes in that time. Throws OverflowError.
[[nodiscard]] inline Bandwidth bandwidthOf(const Rational& bytes, const ExactMicroseconds& time) {
  return Bandwidth(bytes / Rational(1000) / time.count());
}
/// The bytes that the bandwidth moves in that time. Throws OverflowError.
[[nodiscard]] inline Rational bytesIn(const ExactMicroseconds& time, const Bandwidth& bandwidth) {
  return time.count() * bandwidth.gigabytesPerSecond() * Rational(1000);
}

}  // namespace coppice
