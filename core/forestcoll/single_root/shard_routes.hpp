// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/single_root/shard_bound.hpp"
#include "schedule/step_schedule.hpp"

namespace coppice::forestcoll {

/// The smallest number of pieces per unit of Network::demand with which whole pieces reach the ratio.
struct PieceCount {
  std::int64_t k = 1;
  bool isMinimum = false;                ///< no smaller k does, proved by the cuts and by one flow per candidate
  std::vector<std::int64_t> capacities;  ///< by arc: whole pieces in the time of the bound
};

/// Every arc of a tight cut must carry a whole number of pieces, which leaves only multiples of one number; the
/// denominator of the ratio is one and always suffices. Throws OverflowError, CancelledError.
[[nodiscard]] PieceCount minPieces(const ShardProblem& problem, const Rational& ratio, const TiedCuts& cuts,
                                   const Progress& progress);

/// Transfers at exactly this ratio, asynchronous, with the fewest bytes sent between GPUs, then over links: the flow of
/// minimum cost, taken apart into paths, widest first. GPUs on a path pass its pieces on.
/// Throws Failure (internal), OverflowError, CancelledError.
[[nodiscard]] schedule::StepSchedule shardRoutes(const fabric::Fabric& fabric, const Request& request,
                                                 const ShardProblem& problem, const PieceCount& pieces,
                                                 const Progress& progress);

}  // namespace coppice::forestcoll
