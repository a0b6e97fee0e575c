// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/box_tree.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/request.hpp"
#include "schedule/forest.hpp"

namespace coppice::forestcoll {

/// All cuts that are as tight as a given one. Two cuts differ if they separate the GPUs differently: which switches and
/// NICs stand on which side does not make another cut, but a set of GPUs and its complement are two cuts, since
/// what leaves one is not what leaves the other.
struct TiedCuts {
  /// The first of them, distinct: those whose smaller side has the fewest GPUs, then by the ranks of that side. The
  /// smaller side (on a tie, S) has the fewest switches and NICs that the cut allows, but the whole of a box whose GPUs
  /// are all on it, where that is as tight. So the same fabric shows the same cuts in the same order, whatever was
  /// edited before.
  std::vector<schedule::Cut> cuts;
  std::int64_t count = 0;  ///< at least cuts.size()
  bool isExact = true;     ///< false: there are at least `count`; a limit ended the search
};

struct TiedCutsLimits {
  std::size_t listed = 64;
  std::int64_t counted = 10'000;
  /// Arcs and words looked at. A number of steps, not of seconds, so that the answer is the same on every machine.
  std::uint64_t steps = 400'000'000;
};

/// What of a fabric decides its cuts; nodes are numbered as in Fabric.
struct CutFabric {
  std::span<const fabric::NodeIndex> gpus;  ///< by rank
  std::span<const fabric::Arc> arcs;        ///< at most one per ordered pair
  const fabric::BoxTree& boxes;
};

/// Every set Q that the data must enter is tight exactly if it is a minimum cut of the flow into its first GPU, and the
/// minimum cuts are the closed sets of what the flow leaves free (Picard and Queyranne, 1980). They are counted GPU by
/// GPU, each Q at the first GPU in it.
/// @param cut one that proves the cut bound of the request (of the slower half, for an allreduce)
/// Errors: badUsage (the cut has no demand or no exit, or a set tighter than it exists), overflow, cancelled.
Result<TiedCuts> tiedCuts(const CutFabric& fabric, const Request& request, const schedule::Cut& cut,
                          const Progress& progress = {}, const TiedCutsLimits& limits = {});
/// Gather and scatter as well, where `cut` is not looked at: the smallest tight cut around each GPU; unions of these
/// are tight too and are not counted, so `isExact` only where they are nested.
Result<TiedCuts> tiedCuts(const fabric::Fabric& fabric, const Request& request, const schedule::Cut& cut,
                          const Progress& progress = {}, const TiedCutsLimits& limits = {});

}  // namespace coppice::forestcoll
