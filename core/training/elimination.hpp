// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "training/costs.hpp"

namespace coppice::training {

/// A plan, by node the number of its strategy.
struct Found {
  Point cost;
  std::vector<int> strategies;
  friend auto operator<=>(const Found&, const Found&) = default;
};

/// Thrown when the work is done that a budget allows.
struct OutOfWork {};

/// Work of several eliminations together.
struct Budget {
  std::size_t maxPoints = 0;  ///< of a table, beyond which fronts are thinned
  std::size_t maxWork = 0;    ///< sums and comparisons
  bool mayGiveUp = true;  ///< ends by OutOfWork where the work is done, or a table would be too large from the start
  std::size_t work = 0;   ///< done so far
  double thinning = 0;    ///< part of 1 that a front may lose in each sum
};

/// All costs that nothing else is as good as, each with a plan, of the strategies that are alive: variables are
/// eliminated one by one, smallest table first, with the front of each entry; entries that another value of a variable
/// replaces at no cost are left out. Throws Failure (infeasible, limit), OutOfWork, OverflowError, CancelledError.
[[nodiscard]] std::vector<Found> eliminate(const Costs& costs, Budget& budget, const Progress& progress);

}  // namespace coppice::training
