// SPDX-License-Identifier: Apache-2.0
#include "base/rational.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/checked.hpp"
#include "base/text.hpp"

namespace coppice {
namespace {

Int128 gcd128(Int128 a, Int128 b) {
  a = a < 0 ? -a : a;
  b = b < 0 ? -b : b;
  while (b != 0) {
    if (a <= std::numeric_limits<std::int64_t>::max() && b <= std::numeric_limits<std::int64_t>::max()) {
      return std::gcd(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
    }
    const Int128 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
}

Rational reduced(Int128 numerator, Int128 denominator) {
  // Divisions of 128 bits take several times as long.
  if (numerator == static_cast<std::int64_t>(numerator) && denominator == static_cast<std::int64_t>(denominator)) {
    return {static_cast<std::int64_t>(numerator), static_cast<std::int64_t>(denominator)};
  }
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
  if (denominator == 1) {
    m_numerator = numerator;
    m_denominator = 1;
    return;
  }
  if (denominator == 0) {
    throw OverflowError("division by zero");
  }
  const std::uint64_t p = magnitude(numerator);
  const std::uint64_t q = magnitude(denominator);
  const std::uint64_t divisor = std::gcd(p, q);
  const bool isNegative = (numerator < 0) != (denominator < 0);
  m_numerator = narrow64(isNegative ? -Int128{p / divisor} : Int128{p / divisor});
  m_denominator = narrow64(Int128{q / divisor});
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

namespace {

/// Significant digits of a decimal and the power of ten they are multiplied with.
struct Decimal {
  Int128 digits = 0;
  std::int64_t exponent = 0;

  void append(char digit) {
    // Zeros wait: they carry a value only if another digit follows, so that "1.000000000000000000000000" stays small.
    if (digit == '0') {
      ++zeros;
      return;
    }
    for (std::int64_t shifted = digits == 0 ? 0 : zeros + 1; shifted > 0; --shifted) {
      digits = checkedMul<Int128>(digits, 10);
    }
    zeros = 0;
    digits = checkedAdd<Int128>(digits, digit - '0');
  }

  /// digits * 10^(exponent + zeros), reduced. Throws OverflowError.
  [[nodiscard]] Rational value() const {
    const std::int64_t power = checkedAdd(exponent, zeros);
    if (digits == 0) {
      return 0;
    }
    Int128 scale = 1;
    for (std::int64_t i = 0; i < (power < 0 ? -power : power); ++i) {
      scale = checkedMul<Int128>(scale, 10);
    }
    return power < 0 ? reduced(digits, scale) : Rational(narrow64(checkedMul(digits, scale)));
  }

  std::int64_t zeros = 0;
};

}  // namespace

Result<Rational> Rational::parse(std::string_view text) {
  const auto bad = [&] {
    return Error{ErrorCode::badInput, inQuotes(text) + " is not a number",
                 "write a decimal such as 12.5 or a fraction such as 25/2"};
  };
  std::size_t at = 0;
  const auto isAt = [&](std::string_view set) {
    return at < text.size() && set.find(text[at]) != std::string_view::npos;
  };
  const auto isDigit = [&] { return isAt("0123456789"); };
  try {
    const bool isNegative = isAt("-");
    at += isAt("+-") ? 1 : 0;
    // Overflow is reported only after the whole text has proved to be a number.
    bool isTooLarge = false;
    const auto readDigits = [&](Decimal& decimal, std::int64_t exponentStep) {
      const std::size_t from = at;
      for (; isDigit(); ++at) {
        decimal.exponent += exponentStep;
        try {
          if (!isTooLarge) {
            decimal.append(text[at]);
          }
        } catch (const OverflowError&) {
          isTooLarge = true;
        }
      }
      return at - from;
    };
    Decimal first;
    const std::size_t wholeDigits = readDigits(first, 0);
    Decimal second;
    second.append('1');
    if (wholeDigits > 0 && isAt("/")) {
      ++at;
      second = {};
      if (readDigits(second, 0) == 0 || (second.digits == 0 && !isTooLarge)) {
        return bad();
      }
    } else {
      std::size_t fractionDigits = 0;
      if (isAt(".")) {
        ++at;
        fractionDigits = readDigits(first, -1);
        if (fractionDigits == 0) {
          return bad();
        }
      }
      if (wholeDigits + fractionDigits == 0) {
        return bad();
      }
      if (isAt("eE")) {
        ++at;
        const bool isSmall = isAt("-");
        at += isAt("+-") ? 1 : 0;
        if (!isDigit()) {
          return bad();
        }
        constexpr std::int64_t kLargestExponent = 1'000'000'000;  // far outside the range, far from overflow
        std::int64_t exponent = 0;
        for (; isDigit(); ++at) {
          exponent = std::min(exponent * 10 + (text[at] - '0'), kLargestExponent);
        }
        first.exponent += isSmall ? -exponent : exponent;
      }
    }
    if (at != text.size()) {
      return bad();
    }
    if (isTooLarge) {
      throw OverflowError("too many digits");
    }
    if (isNegative) {
      first.digits = -first.digits;  // before narrowing: the smallest 64-bit integer has no positive twin
    }
    return first.value() / second.value();
  } catch (const OverflowError&) {
    return Error{ErrorCode::overflow, inQuotes(text) + " is outside the exact 64-bit range",
                 "use fewer digits or another unit"};
  }
}

std::int64_t leastCommonMultiple(std::int64_t a, std::int64_t b) {
  if (a <= 0 || b <= 0) {
    throw OverflowError("least common multiple of a number below 1");
  }
  return checkedMul(a / std::gcd(a, b), b);
}

Rational greatestCommonDivisor(const Rational& a, const Rational& b) {
  const std::int64_t denominator = leastCommonMultiple(a.denominator(), b.denominator());
  return {std::gcd(checkedMul(a.numerator(), denominator / a.denominator()),
                   checkedMul(b.numerator(), denominator / b.denominator())),
          denominator};
}

bool sumsToZero(std::span<const Rational> terms) {
  // Digits of base 2^32, each term rounded down. A sum other than 0 is at least the inverse of the product of all
  // denominators, thus more than all roundings together.
  const std::size_t count = terms.size();
  std::vector<std::int64_t> digits(2 * count + 3);
  Int128 whole = 0;
  for (const Rational& term : terms) {
    whole += term.floor();
    Int128 rest = term.numerator() - Int128{term.floor()} * term.denominator();
    for (std::int64_t& digit : digits) {
      rest <<= 32;
      digit += static_cast<std::int64_t>(rest / term.denominator());
      rest %= term.denominator();
    }
  }
  // Of a sum of 0, fewer than `count` units of the last digit are missing.
  const auto slack = static_cast<std::int64_t>(count == 0 ? 0 : count - 1);
  digits.back() += slack;
  std::int64_t carry = 0;
  for (std::size_t i = digits.size(); i-- > 0;) {
    digits[i] += carry;
    carry = digits[i] >> 32;
    digits[i] &= 0xffffffff;
  }
  return whole + carry == 0 && digits.back() <= slack &&
         std::all_of(digits.begin(), digits.end() - 1, [](std::int64_t digit) { return digit == 0; });
}

}  // namespace coppice
