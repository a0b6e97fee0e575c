// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace coppice {

/// Exact fraction in lowest terms with a positive denominator, 64-bit parts.
/// Arithmetic goes through 128 bits and throws OverflowError when the reduced result does not fit; comparison never
/// overflows and never rounds.
class Rational {
public:
  constexpr Rational() = default;
  constexpr Rational(std::int64_t value) : m_numerator(value) {}  // NOLINT(google-explicit-constructor)
  /// Reduces. @pre denominator != 0 (throws OverflowError otherwise, as for any value out of range)
  Rational(std::int64_t numerator, std::int64_t denominator);

  [[nodiscard]] constexpr std::int64_t numerator() const { return m_numerator; }
  [[nodiscard]] constexpr std::int64_t denominator() const { return m_denominator; }
  [[nodiscard]] constexpr bool isInteger() const { return m_denominator == 1; }
  [[nodiscard]] constexpr bool isZero() const { return m_numerator == 0; }
  [[nodiscard]] constexpr bool isPositive() const { return m_numerator > 0; }

  /// Largest integer not above this.
  [[nodiscard]] std::int64_t floor() const;
  /// Throws OverflowError for zero.
  [[nodiscard]] Rational inverse() const;
  /// For display and charts only; never compare with it.
  [[nodiscard]] double toDouble() const;
  /// "p/q", or "p" for an integer.
  [[nodiscard]] std::string toString() const;

  friend Rational operator+(const Rational& a, const Rational& b);
  friend Rational operator-(const Rational& a, const Rational& b);
  friend Rational operator*(const Rational& a, const Rational& b);
  friend Rational operator/(const Rational& a, const Rational& b);
  Rational operator-() const { return Rational(0) - *this; }
  Rational& operator+=(const Rational& other) { return *this = *this + other; }
  Rational& operator-=(const Rational& other) { return *this = *this - other; }
  Rational& operator*=(const Rational& other) { return *this = *this * other; }
  Rational& operator/=(const Rational& other) { return *this = *this / other; }

  friend bool operator==(const Rational& a, const Rational& b) = default;
  friend std::strong_ordering operator<=>(const Rational& a, const Rational& b);

  /// Reads "12", "12.5", "-3", "1e3", "25/2"; exact. Errors: badInput for other text, overflow for parts over 64 bits.
  static Result<Rational> parse(std::string_view text);

private:
  std::int64_t m_numerator = 0;
  std::int64_t m_denominator = 1;
};

/// Least common multiple; throws OverflowError, also where a or b is below 1.
[[nodiscard]] std::int64_t leastCommonMultiple(std::int64_t a, std::int64_t b);

/// The largest fraction of which both are whole multiples; of 0 and another, the other. Throws OverflowError.
[[nodiscard]] Rational greatestCommonDivisor(const Rational& a, const Rational& b);

/// Exactly, however large the common denominator is.
[[nodiscard]] bool sumsToZero(std::span<const Rational> terms);

}  // namespace coppice
