// SPDX-License-Identifier: Apache-2.0
#include "base/rational.hpp"

#include <numeric>

#include "base/checked.hpp"

namespace coppice {
namespace {

Int128 gcd128(Int128 a, Int128 b) {
  a = a < 0 ? -a : a;
  b = b < 0 ? -b : b;
  while (b != 0) {
    const Int128 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

Rational reduced(Int128 numerator, Int128 denominator) {
  if (denominator == 0) {
    throw OverflowError("division by zero");
  }
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  const Int128 divisor = gcd128(numerator, denominator);
  return {narrow64(numerator / divisor), narrow64(denominator / divisor)};
}

}  // namespace

Rational::Rational(std::int64_t numerator, std::int64_t denominator) {
  if (denominator == 0) {
    throw OverflowError("division by zero");
  }
  Int128 p = numerator;
  Int128 q = denominator;
  if (q < 0) {
    p = -p;
    q = -q;
  }
  const Int128 divisor = gcd128(p, q);
  m_numerator = narrow64(p / divisor);
  m_denominator = narrow64(q / divisor);
}

std::int64_t Rational::floor() const {
  const std::int64_t quotient = m_numerator / m_denominator;
  return (m_numerator < 0 && m_numerator % m_denominator != 0) ? quotient - 1 : quotient;
}

Rational Rational::inverse() const {
  return {m_denominator, m_numerator};
}

double Rational::toDouble() const {
  return static_cast<double>(m_numerator) / static_cast<double>(m_denominator);
}

std::string Rational::toString() const {
  return isInteger() ? std::to_string(m_numerator) : std::to_string(m_numerator) + "/" + std::to_string(m_denominator);
}

Rational operator+(const Rational& a, const Rational& b) {
  const std::int64_t divisor = std::gcd(a.m_denominator, b.m_denominator);
  return reduced(
      Int128{a.m_numerator} * (b.m_denominator / divisor) + Int128{b.m_numerator} * (a.m_denominator / divisor),
      Int128{a.m_denominator} * (b.m_denominator / divisor));
}

Rational operator-(const Rational& a, const Rational& b) {
  const std::int64_t divisor = std::gcd(a.m_denominator, b.m_denominator);
  return reduced(
      Int128{a.m_numerator} * (b.m_denominator / divisor) - Int128{b.m_numerator} * (a.m_denominator / divisor),
      Int128{a.m_denominator} * (b.m_denominator / divisor));
}

Rational operator*(const Rational& a, const Rational& b) {
  return reduced(Int128{a.m_numerator} * b.m_numerator, Int128{a.m_denominator} * b.m_denominator);
}

Rational operator/(const Rational& a, const Rational& b) {
  return reduced(Int128{a.m_numerator} * b.m_denominator, Int128{a.m_denominator} * b.m_numerator);
}

std::strong_ordering operator<=>(const Rational& a, const Rational& b) {
  const Int128 left = Int128{a.m_numerator} * b.m_denominator;
  const Int128 right = Int128{b.m_numerator} * a.m_denominator;
  return left < right ? std::strong_ordering::less
                      : (left > right ? std::strong_ordering::greater : std::strong_ordering::equal);
}

Result<Rational> Rational::parse(std::string_view text) {
  const auto bad = [&] {
    return Error{ErrorCode::badInput, "\"" + std::string(text.substr(0, 64)) + "\" is not a number",
                 "write a decimal such as 12.5 or a fraction such as 25/2"};
  };
  const auto tooLarge = [&] {
    return Error{ErrorCode::overflow, "\"" + std::string(text.substr(0, 64)) + "\" is outside the exact 64-bit range",
                 "use fewer digits or another unit"};
  };
  std::size_t at = 0;
  const auto digitAt = [&](std::size_t index) {
    return index < text.size() && text[index] >= '0' && text[index] <= '9';
  };
  try {
    bool negative = false;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) {
      negative = text[at] == '-';
      ++at;
    }
    if (!digitAt(at) && !(at < text.size() && text[at] == '.' && digitAt(at + 1))) {
      return bad();
    }
    std::int64_t value = 0;
    while (digitAt(at)) {
      value = checkedAdd(checkedMul<std::int64_t>(value, 10), std::int64_t{text[at++] - '0'});
    }
    if (at < text.size() && text[at] == '/') {
      ++at;
      if (!digitAt(at)) {
        return bad();
      }
      std::int64_t denominator = 0;
      while (digitAt(at)) {
        denominator = checkedAdd(checkedMul<std::int64_t>(denominator, 10), std::int64_t{text[at++] - '0'});
      }
      if (at != text.size() || denominator == 0) {
        return bad();
      }
      return Rational(negative ? -value : value, denominator);
    }
    std::int64_t denominator = 1;
    if (at < text.size() && text[at] == '.') {
      ++at;
      if (!digitAt(at)) {
        return bad();
      }
      while (digitAt(at)) {
        // Trailing zeros carry no value; skipping them keeps "1.000000000000000000000" readable.
        std::size_t rest = at;
        while (rest < text.size() && text[rest] == '0') {
          ++rest;
        }
        if (!digitAt(rest)) {
          at = rest;
          break;
        }
        value = checkedAdd(checkedMul<std::int64_t>(value, 10), std::int64_t{text[at++] - '0'});
        denominator = checkedMul<std::int64_t>(denominator, 10);
      }
    }
    Rational result(negative ? -value : value, denominator);
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
      ++at;
      bool negativeExponent = false;
      if (at < text.size() && (text[at] == '-' || text[at] == '+')) {
        negativeExponent = text[at] == '-';
        ++at;
      }
      if (!digitAt(at)) {
        return bad();
      }
      int exponent = 0;
      while (digitAt(at)) {
        exponent = exponent * 10 + (text[at++] - '0');
        if (exponent > 40) {
          return result.isZero() ? Result<Rational>(Rational(0)) : Result<Rational>(tooLarge());
        }
      }
      for (; exponent > 0; --exponent) {
        result = negativeExponent ? result / Rational(10) : result * Rational(10);
      }
    }
    if (at != text.size()) {
      return bad();
    }
    return result;
  } catch (const OverflowError&) {
    return tooLarge();
  }
}

std::int64_t leastCommonMultiple(std::int64_t a, std::int64_t b) {
  return checkedMul(a / std::gcd(a, b), b);
}

}  // namespace coppice
