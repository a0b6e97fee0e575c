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
    Plan plan;
    /// No plan costs less, whatever its strategies: what a ns of compute and of communication and a byte count in whole
    /// numbers, and the least sum.
    double compute = 0;
    double communication = 0;
    double memory = 0;
    double least = 0;
  };
  /// Throws Failure (infeasible, limit), OverflowError, CancelledError; OutOfWork beyond the work of all calls.
  [[nodiscard]] Answer best(const Prices& prices);

private:
  Progress m_progress;
  Costs m_costs;
  Budget m_budget;
};

}  // namespace coppice::training
