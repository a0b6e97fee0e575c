// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "forestcoll/network.hpp"
#include "schedule/forest.hpp"

namespace coppice::forestcoll {

// Algorithm 1: the optimality of a fabric, 1/x* = max over node sets S of demand(S) / B+(S) (Theorem 23).

/// max over S of demand(S) / B+(S), as p/q in capacity units, with the node set S that proves it.
struct CutRatio {
  std::int64_t demand = 0;  ///< p before reduction
  std::int64_t exit = 0;    ///< q before reduction
  std::vector<int> nodes;   ///< S, ascending

  [[nodiscard]] Rational value() const { return {demand, exit}; }
};

/// Theorem 23 by Newton's method (Dinkelbach) inside one pass over the sinks: a sink that falls short at ratio p/q
/// shows a cut with a larger ratio; a sink that passed stays right when the ratio grows. Exact, no binary search.
/// Throws Failure (infeasible), OverflowError, CancelledError.
[[nodiscard]] CutRatio worstCut(const Network& network, const Progress& progress);

/// Distinct cuts of the given ratio that cheap searches find: the certificate first, then the minimal and maximal ones
/// around the first sinks.
[[nodiscard]] std::vector<schedule::Cut> bottleneckCuts(const Network& network, const CutRatio& worst,
                                                        const Progress& progress);

}  // namespace coppice::forestcoll
