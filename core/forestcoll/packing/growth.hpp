// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/progress.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/stage_clock.hpp"
#include "schedule/expansion.hpp"
#include "schedule/forest.hpp"

namespace coppice::forestcoll {

/// A forest to be grown: trees to root at each node, and how many an arc may carry.
struct GrowthProblem {
  const Network& network;
  const std::vector<TreeArc>& capacities;   ///< feasible for the supplies, balanced at switches
  const std::vector<std::int64_t>& supply;  ///< by node
  InverseBandwidth scale;                   ///< U, for Forest::scale
};

struct GrowthOptions {
  int heightEffort = 1;                                    ///< see Request
  std::int64_t maxTreeBytes = schedule::kMaxWrittenBytes;  ///< see Request
  int maxHeight = std::numeric_limits<int>::max();         ///< what is tried for, not a promise
  bool canRotate = true;                                   ///< large forests may be those of rank 0 and rotations
  /// Steps that the first strategy has to itself; 0 = 400 million, and 256 for every pair of GPUs (the trees alone have
  /// an edge for each).
  std::uint64_t firstWork = 0;
  bool mayRace = true;  ///< false: WorkLimitReached is thrown where the first strategy has not ended by then
};

/// Trimming, then the strategies of growth.cpp, of which the lowest forest is taken.
///
/// Trimmings differ in what they take away; any may be the fast one on a fabric without slack or symmetry. The first is
/// tried alone; when it has not ended after a certain amount of counted work (about a second), all of them restart side
/// by side on the cores there are, each with four times that work, then sixteen, and so on. Of those that end in a
/// round the first in order is taken: the result never depends on timing, and costs at most some three times the work
/// of the quickest. Throws WorkLimitReached (only where they may not race), Failure (limit where trees would take more
/// than maxTreeBytes), OverflowError, CancelledError.
[[nodiscard]] schedule::Forest growForest(const fabric::Fabric& fabric, const GrowthProblem& problem,
                                          const GrowthOptions& options, const Progress& progress, StageClock& clock);

}  // namespace coppice::forestcoll
