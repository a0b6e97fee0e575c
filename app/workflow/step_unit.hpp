// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/rational.hpp"

namespace coppice::workflow {

/// How times of a step are written beside each other: in one unit, with four digits of the best of them.
struct StepUnit {
  std::string_view name;  ///< "ms", from ten seconds on "s"
  double nanoseconds = 1;
  int places = 0;
  /// Without the unit: "512.3".
  [[nodiscard]] std::string text(const Rational& nanoseconds) const;
};
[[nodiscard]] StepUnit stepUnit(double nanoseconds);
/// The unit of the longest, with up to three more digits where the shortest would read 0.
[[nodiscard]] StepUnit stepUnit(std::span<const Rational> nanoseconds);
/// "512.3 ms", "60.22 s"
[[nodiscard]] std::string stepTime(double nanoseconds);
[[nodiscard]] std::string stepTime(const Rational& nanoseconds);

}  // namespace coppice::workflow
