// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "training/elimination.hpp"
#include "training/search.hpp"

namespace coppice::training {

/// Plans of least weighted cost: one number for each entry of a table instead of a front, so that a block takes
/// milliseconds.
class WeightedSearch {
public:
  /// Throws Failure (infeasible), OverflowError, CancelledError.
  WeightedSearch(const Problem& problem, const Progress& progress);

  struct Answer {
    std::optional<Plan> plan = {};
    /// No plan costs less, whatever its strategies: what a ns of compute and of communication and a byte count in whole
    /// numbers, and the least sum.
    double compute = 0;
    double communication = 0;
    double memory = 0;
    double least = 0;
  };
  /// A bound that mostly leaves little open, in a part of the time (DualBound); with a plan where that costs no more
  /// than a millionth above the bound. Throws CancelledError.
  [[nodiscard]] Answer bound(const Prices& prices) const;
  /// With a plan. Throws Failure (infeasible, limit), OverflowError, CancelledError; OutOfWork beyond the work of all
  /// calls.
  [[nodiscard]] Answer best(const Prices& prices);

private:
  [[nodiscard]] Answer answerOf(const Weights& weights) const;
  [[nodiscard]] Plan planOf(const std::vector<int>& choice) const;

  Progress m_progress;
  Costs m_costs;
  bool m_isThin = false;  ///< dead ends are left out
  Budget m_budget;
};

}  // namespace coppice::training
