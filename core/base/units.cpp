// SPDX-License-Identifier: Apache-2.0
#include "base/units.hpp"

#include <cstdint>

#include "base/ascii.hpp"
#include "base/checked.hpp"
#include "base/text.hpp"

namespace coppice {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t numerator;  // GB/s per unit
  std::int64_t denominator;
};

// Only B and b differ in case on purpose: bytes and bits. SI prefixes, as link rates are quoted.
constexpr Unit kUnits[] = {{"TB/s", 1000, 1}, {"GB/s", 1, 1},     {"MB/s", 1, 1000}, {"Tb/s", 125, 1},
                           {"Gb/s", 1, 8},    {"Mb/s", 1, 8000},  {"Tbps", 125, 1},  {"Gbps", 1, 8},
                           {"Mbps", 1, 8000}, {"Tbit/s", 125, 1}, {"Gbit/s", 1, 8},  {"Mbit/s", 1, 8000},
                           {"GBps", 1, 1},    {"TBps", 1000, 1},  {"MBps", 1, 1000}};

}  // namespace

Result<Bandwidth> Bandwidth::parse(std::string_view text) {
  const auto tooLarge = [&] {
    return Error{ErrorCode::overflow, "bandwidth " + inQuotes(text) + " is outside the exact 64-bit range",
                 "use fewer digits or another unit"};
  };
  std::string_view rest = trimmed(text);
  Rational lanes = 1;
  // "12x25": digits, then x, then another number.
  const std::size_t times = rest.find_first_of("x*");
  const bool startsAsNumber =
      !rest.empty() && std::string_view("+-.0123456789").find(rest[0]) != std::string_view::npos;
  if (startsAsNumber && times != std::string_view::npos) {
    const auto count = Rational::parse(trimmed(rest.substr(0, times)));
    if (!count || !count->isInteger() || !count->isPositive()) {
      return Error{ErrorCode::badInput,
                   "bandwidth " + inQuotes(text) + ": the part before \"x\" must be a whole number of lanes",
                   "write for example 12x25 GB/s"};
    }
    lanes = *count;
    rest = trimmed(rest.substr(times + 1));
  }
  std::size_t end = 0;
  while (end < rest.size()) {
    const char c = rest[end];
    const bool exponent =
        (c == 'e' || c == 'E') && end + 1 < rest.size() &&
        (rest[end + 1] == '-' || rest[end + 1] == '+' || (rest[end + 1] >= '0' && rest[end + 1] <= '9'));
    const bool sign = (c == '-' || c == '+') && (end == 0 || rest[end - 1] == 'e' || rest[end - 1] == 'E');
    const bool fraction = c == '/' && end + 1 < rest.size() && rest[end + 1] >= '0' && rest[end + 1] <= '9';
    if (!((c >= '0' && c <= '9') || c == '.' || exponent || sign || fraction)) {
      break;
    }
    ++end;
  }
  const auto number = Rational::parse(rest.substr(0, end));
  if (!number) {
    if (number.error().code == ErrorCode::overflow) {
      return tooLarge();
    }
    return Error{ErrorCode::badInput, inQuotes(text) + " is not a bandwidth",
                 "write GB/s per direction such as 25, 12.5 or 25/2, or a unit such as 400Gb/s or 12x25 GB/s"};
  }
  const std::string_view unitName = trimmed(rest.substr(end));
  Rational factor = 1;
  if (!unitName.empty()) {
    bool known = false;
    for (const Unit& unit : kUnits) {
      if (unit.name == unitName) {
        factor = Rational(unit.numerator, unit.denominator);
        known = true;
        break;
      }
    }
    if (!known) {
      return Error{ErrorCode::badInput, inQuotes(unitName) + " is not a unit of bandwidth",
                   "use GB/s, MB/s, TB/s (bytes) or Gb/s, Mb/s, Tb/s (bits)"};
    }
  }
  try {
    return Bandwidth(*number * lanes * factor);
  } catch (const OverflowError&) {
    return tooLarge();
  }
}

std::string toExactText(const Rational& value) {
  std::int64_t denominator = value.denominator();
  int places = 0;
  int twos = 0;
  int fives = 0;
  while (denominator % 2 == 0) {
    denominator /= 2;
    ++twos;
  }
  while (denominator % 5 == 0) {
    denominator /= 5;
    ++fives;
  }
  places = twos > fives ? twos : fives;
  if (denominator != 1 || places > 12) {
    return value.toString();
  }
  return toDecimal(value, places);
}

std::string toDecimal(const Rational& value, int places) {
  Int128 scaled = value.numerator() < 0 ? -Int128{value.numerator()} : Int128{value.numerator()};
  const Int128 whole = scaled / value.denominator();
  Int128 rest = scaled % value.denominator();
  std::string digits;
  for (int i = 0; i < places; ++i) {
    rest *= 10;
    digits += static_cast<char>('0' + static_cast<int>(rest / value.denominator()));
    rest %= value.denominator();
  }
  Int128 carry = 2 * rest >= value.denominator() ? 1 : 0;
  for (std::size_t i = digits.size(); i-- > 0 && carry != 0;) {
    if (digits[i] == '9') {
      digits[i] = '0';
    } else {
      ++digits[i];
      carry = 0;
    }
  }
  while (!digits.empty() && digits.back() == '0') {
    digits.pop_back();
  }
  // Unsigned: the magnitude of the smallest value is one above the largest.
  std::string text = std::to_string(static_cast<std::uint64_t>(whole + carry));
  if (!digits.empty()) {
    text += "." + digits;
  }
  const bool isZero = text == "0";
  return (value.numerator() < 0 && !isZero ? "-" : "") + text;
}

}  // namespace coppice
