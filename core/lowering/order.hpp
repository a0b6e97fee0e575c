// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "lowering/moves.hpp"
#include "lowering/plan.hpp"
#include "lowering/work.hpp"

/// Internal to core/lowering: the order in which the threadblocks of a plan run their steps.
namespace coppice::lowering {

/// What must come before what on one rank, by event number (see idOf). The start of a message that is fused goes by the
/// number of the arrival that it is fused with.
struct Waits {
  std::vector<std::pair<int, int>> pairs;  ///< event, one that waits for it
  std::vector<int> remaining;              ///< by message: hops of the data still to come after it
  std::vector<int> passed;                 ///< by message: hops behind it; for runs backwards in time
};

/// List scheduling with one time unit per chunk: of all chains whose inputs are there, the one that would finish first
/// goes next; among equals the one with most hops still to come. The clock only ranks the chains. That every chain
/// comes after those it waits for is what the proof needs, and holds whatever the clock says. Incomplete where chains
/// wait for each other.
[[nodiscard]] std::vector<Event> orderOfChains(const Moves& moves, const Plan& plan, const Waits& waits,
                                               const Progress& progress);

/// What part of the messages a greedy run moves, and how.
struct RunStyle {
  int phase = -1;          ///< -1 = all
  bool backwards = false;  ///< in time: messages go from receiver to sender, and steps wait for those after them
  /// By event: earlier ones first, whenever they could start. Empty = the one that can start first.
  std::vector<std::int64_t> rank = {};
};

/// A greedy run of the whole machine, one time unit per chunk, with connections as deep as the protocol's: whenever a
/// threadblock is free it takes the step that can start first; among equals the one with most hops still to come.
/// The order is incomplete if the run gets stuck.
[[nodiscard]] std::vector<Event> greedyRun(const Moves& moves, const Plan& plan, const Waits& waits,
                                           const RunStyle& style, const Options& options, const Progress& progress);

}  // namespace coppice::lowering
