// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lowering/work.hpp"

/// Internal to core/lowering: how a rank adds up what it receives where receiving and reducing are two steps (RCCL).
///
/// All arrivals of a part but the last land in scratch. The threadblock of the last one waits for the others, in nops,
/// and adds everything up: no other threadblock writes the sum. Where there are many arrivals, every 16th adds those
/// before it to its own landing place in scratch first, so that no threadblock runs out of steps.
namespace coppice::lowering {

/// Arrivals that one threadblock adds up at once.
inline constexpr int kMaxAddends = 16;

struct Sums {
  /// By part * gpuCount + rank: the child whose data is added last, -1 = nothing arrives. One of those with the
  /// deepest subtree; over the parts, each peer gets its share of the work.
  std::vector<int> lastChild;
};
[[nodiscard]] Sums planSums(const Work& work);

/// Steps of the receiving threadblock, at most, for the arrival number `position` (from 0) of `arrivals`.
[[nodiscard]] int stepsOfArrival(int position, int arrivals);

}  // namespace coppice::lowering
