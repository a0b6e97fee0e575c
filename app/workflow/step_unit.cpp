// SPDX-License-Identifier: Apache-2.0
#include "workflow/step_unit.hpp"

#include <algorithm>
#include <cmath>

#include "base/formatted.hpp"

namespace coppice::workflow {

std::string StepUnit::text(const Rational& time) const {
  return withPlaces(time.toDouble() / nanoseconds, places);
}

StepUnit stepUnit(double nanoseconds) {
  constexpr double kMilli = 1e6;
  constexpr double kSecond = 1e9;
  constexpr int kDigits = 4;
  StepUnit unit = nanoseconds < 10 * kSecond ? StepUnit{"ms", kMilli} : StepUnit{"s", kSecond};
  int whole = 1;
  for (double value = nanoseconds / unit.nanoseconds; value >= 10; value /= 10) {
    ++whole;
  }
  unit.places = nanoseconds > 0 ? std::max(0, kDigits - whole) : 0;
  return unit;
}

StepUnit stepUnit(std::span<const Rational> nanoseconds) {
  if (nanoseconds.empty()) {
    return stepUnit(0);
  }
  const auto [shortest, longest] = std::ranges::minmax(nanoseconds);
  StepUnit unit = stepUnit(longest.toDouble());
  constexpr int kMore = 3;
  const double least = shortest.toDouble() / unit.nanoseconds;
  for (int i = 0; i < kMore && least > 0 && std::round(least * std::pow(10, unit.places)) < 1; ++i) {
    ++unit.places;
  }
  return unit;
}

std::string stepTime(double nanoseconds) {
  const StepUnit unit = stepUnit(nanoseconds);
  return withPlaces(nanoseconds / unit.nanoseconds, unit.places) + ' ' + std::string(unit.name);
}

std::string stepTime(const Rational& nanoseconds) {
  return stepTime(nanoseconds.toDouble());
}

}  // namespace coppice::workflow
