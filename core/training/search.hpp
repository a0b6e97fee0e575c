// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "training/strategies.hpp"

namespace coppice::training {

/// A choice of a strategy for each node, and what it costs.
struct Plan {
  Cost cost;
  std::vector<Strategy> strategies = {};  ///< by node
};

struct SearchOptions {
  /// Points of a table, beyond which fronts are thinned.
  std::size_t maxPoints = 5'000'000;
  /// Sums and comparisons after which the search of all axes together gives up, and axes are searched one by one.
  std::size_t maxWork = 200'000'000;
};

struct Front {
  std::vector<Plan> plans;  ///< ascending by compute, then communication, then memory
  /// Some fronts were thinned: each plan that is missing has one here that is at most 0.1 % more in all three.
  bool isThinned = false;
  /// The exact search was out of work: the plans are as stated, but others may be better.
  bool isPartial = false;
  /// Of a partial front, ns: no plan takes less than this in the larger of compute and communication (DualBound).
  std::optional<Rational> leastStep = {};

  [[nodiscard]] bool isExact() const { return !isThinned && !isPartial; }
};

/// All costs of a problem that nothing else is as good as in compute, communication and memory together, each with a
/// plan. Exact: strategies that another replaces at no cost whatever the others do are left out (dead-end elimination,
/// Goldstein, Biophys. J. 66 (1994)), then variables are eliminated one by one, smallest table first, with the front of
/// each entry; entries that another value of a variable replaces at no cost are left out in the same way. Out of work,
/// plans come of bounds of weighted costs, and of one axis after the other. The same problem gives the same answer on
/// every machine.
/// Errors: badInput (faultOf), infeasible (no states fit `fixed` and the sizes), overflow, limit, cancelled.
Result<Front> findFront(const Problem& problem, const SearchOptions& options = {}, const Progress& progress = {});

/// What the strategies cost; nullopt where a conversion is impossible. @param strategies by node
[[nodiscard]] std::optional<Cost> costOf(const Problem& problem, const std::vector<Strategy>& strategies);

}  // namespace coppice::training
