// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "base/rational.hpp"
#include "base/result.hpp"

namespace coppice {

/// Exact bandwidth of one direction, in GB/s (10^9 bytes per second).
class Bandwidth {
public:
  constexpr Bandwidth() = default;
  constexpr explicit Bandwidth(Rational gigabytesPerSecond) : m_value(gigabytesPerSecond) {}

  [[nodiscard]] constexpr const Rational& gigabytesPerSecond() const { return m_value; }

  friend Bandwidth operator+(const Bandwidth& a, const Bandwidth& b) { return Bandwidth(a.m_value + b.m_value); }
  friend Bandwidth operator-(const Bandwidth& a, const Bandwidth& b) { return Bandwidth(a.m_value - b.m_value); }
  friend Bandwidth operator*(const Bandwidth& a, const Rational& factor) { return Bandwidth(a.m_value * factor); }
  friend bool operator==(const Bandwidth&, const Bandwidth&) = default;
  friend std::strong_ordering operator<=>(const Bandwidth& a, const Bandwidth& b) { return a.m_value <=> b.m_value; }

  /// Reads "50", "12.5", "25/2", "400Gb/s" (bits), "50 GB/s", "200000 Mb/s", "12x25 GB/s" (12 lanes of 25), exactly.
  /// No unit means GB/s per direction. Errors: badInput (unknown unit or number), overflow. Sign is not checked here.
  static Result<Bandwidth> parse(std::string_view text);

  /// Shortest exact text that parse reads back: "12.5" where the decimal is finite (at most 12 places), else "p/q".
  [[nodiscard]] std::string toString() const;

private:
  Rational m_value;
};

/// "346.67": at most `places` digits after the point, rounded half away from zero, no trailing zeros. Display only.
[[nodiscard]] std::string toDecimal(const Rational& value, int places = 2);

}  // namespace coppice
