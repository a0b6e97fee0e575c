// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/optimality.hpp"
#include "forestcoll/optimum.hpp"
#include "forestcoll/request.hpp"
#include "forestcoll/tied_cuts.hpp"

namespace coppice::forestcoll {

// Gather and scatter: one flow of unequal demands. Each rank's shard goes to the root (from it), the root's own stays.
// By max-flow min-cut the time per unit of data is the largest demand(S) / B over node sets S without the root, B being
// what leaves S (enters it). Switches only forward and may leave bandwidth unused, so they need no balance.

/// Shards that flow to the root. A scatter is the gather on the transposed fabric, turned round.
struct ShardProblem {
  Network network;                    ///< demands of all but the root, without a common divisor
  int root = 0;                       ///< node
  std::int64_t demandUnit = 1;        ///< amount per unit of Network::demand
  std::vector<std::int64_t> amounts;  ///< by rank, the root's too, without a common divisor
  std::int64_t totalAmount = 0;
};

/// Throws Failure (badUsage; infeasible where only the root has data), OverflowError.
[[nodiscard]] ShardProblem shardProblem(const fabric::Fabric& fabric, const Request& request);

/// Newton's method (Dinkelbach) on the cut ratio, one flow per round. Throws OverflowError, CancelledError.
[[nodiscard]] CutRatio worstShardCut(const ShardProblem& problem, const Progress& progress);

/// Distinct tight cuts: for each GPU the smallest one around it (Picard and Queyranne, 1980), those with the fewest
/// GPUs first, then the largest of all. Exact where they are nested: unions of others are tight too, and are not
/// counted.
[[nodiscard]] TiedCuts tightShardCuts(const ShardProblem& problem, const Rational& ratio, const Progress& progress);

/// The bound without a schedule: no k.
[[nodiscard]] Optimum shardOptimum(const ShardProblem& problem, const Rational& ratio, const TiedCuts& cuts);

}  // namespace coppice::forestcoll
