// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>

#include "base/duration.hpp"

namespace coppice {

/// Throughput as simulation and measurement give it, in GB/s (10^9 bytes per second), rounded. What is proved about a
/// fabric is a Bandwidth.
class Throughput {
public:
  constexpr Throughput() = default;
  constexpr explicit Throughput(double gigabytesPerSecond) : m_value(gigabytesPerSecond) {}
  /// Of bytes that took that time.
  constexpr Throughput(double bytes, Microseconds time) : m_value(bytes / time.count() / kBytesPerMicrosecond) {}

  [[nodiscard]] constexpr double gigabytesPerSecond() const { return m_value; }
  [[nodiscard]] constexpr double bytesPerMicrosecond() const { return m_value * kBytesPerMicrosecond; }

  friend constexpr Throughput operator*(const Throughput& a, double factor) { return Throughput(a.m_value * factor); }
  friend constexpr double operator/(const Throughput& a, const Throughput& b) { return a.m_value / b.m_value; }
  friend constexpr auto operator<=>(const Throughput&, const Throughput&) = default;

private:
  static constexpr double kBytesPerMicrosecond = 1000;  // of 1 GB/s

  double m_value = 0;
};

}  // namespace coppice
