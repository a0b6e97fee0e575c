// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "groups/groups.hpp"
#include "schedule/placement.hpp"

namespace coppice::groups {

struct PlacementRequest {
  std::int64_t work = std::int64_t{1} << 28;  ///< numbers that the search may touch, about
};

struct Placement {
  std::vector<fabric::Rank> ranks;  ///< the best choice found, ascending
  Optimum optimum;                  ///< of these
  Bandwidth upper;                  ///< no choice is faster
  /// What proves `cutBound`: no choice is faster than that by the cuts of these regions alone.
  std::vector<schedule::PlacementRegion> regions;
  Bandwidth cutBound;
  std::int64_t tried = 0;   ///< choices, and beginnings of choices, whose rate was computed
  bool isSearched = false;  ///< every other choice was ruled out one by one

  /// The choice is the best one.
  [[nodiscard]] bool isExact() const { return optimum.lower == upper; }
};

/// The collective among the choice, as one of several at once would be asked for.
[[nodiscard]] schedule::ConcurrentDemand demandOf(const schedule::PlacementQuestion& question,
                                                  std::vector<fabric::Rank> ranks);

/// Choices that the bound of the regions allows come first. Where the best of them does not reach that bound, members
/// are exchanged one by one while that is faster, and the rest of the choices is divided by their first members: those
/// alone, with what may still be chosen as relays, are at least as fast as every choice with them, but for what the
/// others add. Of first members that symmetries take to each other, one is tried. The work is counted.
/// Errors: badUsage (size below 2 or more than are free; a collective with a root), infeasible (no choice is connected
/// over what it may use), overflow, cancelled.
[[nodiscard]] Result<Placement> place(const fabric::Fabric& fabric, const schedule::PlacementQuestion& question,
                                      const PlacementRequest& request = {}, const Progress& progress = {});

}  // namespace coppice::groups
