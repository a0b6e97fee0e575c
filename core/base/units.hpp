// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <ranges>
#include <string>
#include <string_view>

#include "base/rational.hpp"
#include "base/result.hpp"

namespace coppice {

class InverseBandwidth;

/// Exact bandwidth of one direction, in GB/s (10^9 bytes per second). Also what is measured in it: algbw, bounds, and
/// changes of a bandwidth, which may be negative.
class Bandwidth {
public:
  constexpr Bandwidth() = default;
  constexpr explicit Bandwidth(Rational gigabytesPerSecond) : m_value(gigabytesPerSecond) {}
  /// numerator / denominator GB/s. Throws OverflowError as Rational.
  Bandwidth(std::int64_t numerator, std::int64_t denominator) : m_value(numerator, denominator) {}

  [[nodiscard]] constexpr const Rational& gigabytesPerSecond() const { return m_value; }
  [[nodiscard]] constexpr bool isZero() const { return m_value.isZero(); }
  [[nodiscard]] constexpr bool isPositive() const { return m_value.isPositive(); }
  /// Throws OverflowError for zero.
  [[nodiscard]] InverseBandwidth inverse() const;

  Bandwidth operator-() const { return Bandwidth(-m_value); }
  Bandwidth& operator+=(const Bandwidth& other) { return *this = *this + other; }
  Bandwidth& operator-=(const Bandwidth& other) { return *this = *this - other; }
  friend Bandwidth operator+(const Bandwidth& a, const Bandwidth& b) { return Bandwidth(a.m_value + b.m_value); }
  friend Bandwidth operator-(const Bandwidth& a, const Bandwidth& b) { return Bandwidth(a.m_value - b.m_value); }
  friend Bandwidth operator*(const Bandwidth& a, const Rational& factor) { return Bandwidth(a.m_value * factor); }
  friend Bandwidth operator*(const Rational& factor, const Bandwidth& a) { return Bandwidth(a.m_value * factor); }
  friend Bandwidth operator/(const Bandwidth& a, const Rational& divisor) { return Bandwidth(a.m_value / divisor); }
  friend Rational operator/(const Bandwidth& a, const Bandwidth& b) { return a.m_value / b.m_value; }
  friend bool operator==(const Bandwidth&, const Bandwidth&) = default;
  friend std::strong_ordering operator<=>(const Bandwidth& a, const Bandwidth& b) { return a.m_value <=> b.m_value; }

  /// Reads "50", "12.5", "25/2", "400Gb/s" (bits), "50 GB/s", "200000 Mb/s", "12x25 GB/s" (12 lanes of 25), exactly.
  /// No unit means GB/s per direction. Errors: badInput (unknown unit or number), overflow. Sign is not checked here.
  static Result<Bandwidth> parse(std::string_view text);

private:
  Rational m_value;
};

/// Exact amount per bandwidth, in 1/(GB/s): the time per byte of a collective (then in ns), the 1/x* of a fabric, the
/// trees per GB/s of a forest.
class InverseBandwidth {
public:
  constexpr InverseBandwidth() = default;
  constexpr explicit InverseBandwidth(Rational perGBps) : m_value(perGBps) {}
  /// Throws OverflowError as Rational.
  InverseBandwidth(std::int64_t numerator, std::int64_t denominator) : m_value(numerator, denominator) {}

  [[nodiscard]] constexpr const Rational& perGBps() const { return m_value; }
  [[nodiscard]] constexpr bool isZero() const { return m_value.isZero(); }
  [[nodiscard]] constexpr bool isPositive() const { return m_value.isPositive(); }
  /// Throws OverflowError for zero.
  [[nodiscard]] Bandwidth inverse() const { return Bandwidth(m_value.inverse()); }

  InverseBandwidth& operator+=(const InverseBandwidth& other) { return *this = *this + other; }
  friend InverseBandwidth operator+(const InverseBandwidth& a, const InverseBandwidth& b) {
    return InverseBandwidth(a.m_value + b.m_value);
  }
  friend InverseBandwidth operator-(const InverseBandwidth& a, const InverseBandwidth& b) {
    return InverseBandwidth(a.m_value - b.m_value);
  }
  friend InverseBandwidth operator*(const InverseBandwidth& a, const Rational& factor) {
    return InverseBandwidth(a.m_value * factor);
  }
  friend InverseBandwidth operator/(const InverseBandwidth& a, const Rational& divisor) {
    return InverseBandwidth(a.m_value / divisor);
  }
  friend Rational operator/(const InverseBandwidth& a, const InverseBandwidth& b) { return a.m_value / b.m_value; }
  friend Rational operator*(const InverseBandwidth& a, const Bandwidth& b) {
    return a.m_value * b.gigabytesPerSecond();
  }
  friend Rational operator*(const Bandwidth& a, const InverseBandwidth& b) { return b * a; }
  friend Bandwidth operator/(const Rational& amount, const InverseBandwidth& a) {
    return Bandwidth(amount / a.m_value);
  }
  friend bool operator==(const InverseBandwidth&, const InverseBandwidth&) = default;
  friend std::strong_ordering operator<=>(const InverseBandwidth& a, const InverseBandwidth& b) {
    return a.m_value <=> b.m_value;
  }

private:
  Rational m_value;
};

inline InverseBandwidth Bandwidth::inverse() const {
  return InverseBandwidth(m_value.inverse());
}
[[nodiscard]] inline InverseBandwidth operator/(const Rational& amount, const Bandwidth& bandwidth) {
  return InverseBandwidth(amount / bandwidth.gigabytesPerSecond());
}

/// GB/s as floating point. For display and charts only; never compare with it.
[[nodiscard]] inline double toGBps(const Bandwidth& value) {
  return value.gigabytesPerSecond().toDouble();
}

/// The largest bandwidth of which all are whole multiples; 0 of none. Throws OverflowError.
template <std::ranges::input_range Range, typename Projection = std::identity>
[[nodiscard]] Bandwidth commonUnit(const Range& range, Projection bandwidthOf = {}) {
  Rational unit;
  for (const auto& each : range) {
    unit = greatestCommonDivisor(unit, std::invoke(bandwidthOf, each).gigabytesPerSecond());
  }
  return Bandwidth(unit);
}

/// Shortest exact text that Rational::parse reads back: "12.5" where the decimal is finite (at most 12 places), else
/// "p/q".
[[nodiscard]] std::string toExactText(const Rational& value);
/// The same of the GB/s.
[[nodiscard]] inline std::string toExactText(const Bandwidth& value) {
  return toExactText(value.gigabytesPerSecond());
}

/// "p/q", or "p" for a whole number, of the GB/s.
[[nodiscard]] inline std::string toFraction(const Bandwidth& value) {
  return value.gigabytesPerSecond().toString();
}
/// The same of the 1/(GB/s).
[[nodiscard]] inline std::string toFraction(const InverseBandwidth& value) {
  return value.perGBps().toString();
}

/// "346.67": at most `places` digits after the point, rounded half away from zero, no trailing zeros. Display only.
[[nodiscard]] std::string toDecimal(const Rational& value, int places = 2);
/// The same of the GB/s.
[[nodiscard]] inline std::string toDecimal(const Bandwidth& value, int places = 2) {
  return toDecimal(value.gigabytesPerSecond(), places);
}

}  // namespace coppice
