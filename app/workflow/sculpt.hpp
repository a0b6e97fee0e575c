// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/repair/repair.hpp"
#include "schedule/forest.hpp"
#include "schedule/tree_edit.hpp"

/// Trees changed by hand, and the others made around those that are to stay.
namespace coppice::workflow {

/// Trees on each link, into Fabric::arcs(), by half: the reduce forest, the broadcast forest.
using LoadsOfHalves = std::array<std::vector<std::int64_t>, 2>;

struct Sculpted {
  schedule::Schedule schedule;  ///< verified; its algbw may be below that of before
  std::size_t half = 1;         ///< 0 = the reduce forest, 1 = the broadcast forest
  std::int64_t tree = 0;        ///< that was changed, in the order of TreeReader
  bool isMirrored = false;      ///< the same tree of the other half was changed too
};

/// Gives a GPU of one tree another parent, or its edge another route. Where the other half of an allreduce has the same
/// tree turned round (schedule::mirroredTree), that is changed in the same way; else the other half stays as it is.
/// Bound and cuts stay; trees below the bound state their k. Errors: those of schedule::withNewParent, badUsage (no
/// such half), infeasible (a link of the new route has no way back, which the mirrored tree needs), those of
/// schedule::expanded, verification.
[[nodiscard]] Result<Sculpted> sculpted(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                        std::size_t half, const schedule::NewParent& change, const Progress& progress);

/// What sculpted() would reach.
struct Forecast {
  Bandwidth algbw;
  std::vector<fabric::NodeIndex> route;  ///< of the new edge, in the direction of the data
  /// The link that is used most for its bandwidth, the first of several: by the half that is changed, or by both
  /// together where they run at the same time.
  std::int32_t busiestArc = 0;
  std::int64_t treesOnIt = 0;
  bool isMirrored = false;
};

/// By the loads alone: nothing is made or verified, so that it can be told while an edge is dragged. Time grows with
/// the fabric and the trees that are written.
/// @param loads of the schedule as it is, own copies included. Errors: those of sculpted() but for verification.
[[nodiscard]] Result<Forecast> forecast(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                        LoadsOfHalves loads, std::size_t half, const schedule::NewParent& change);

/// The best schedule that has the locked trees, by half and in the order of TreeReader, verified. Where the halves run at
/// the same time, see forestcoll::aroundLockedHalves. Errors: those of forestcoll::repaired, badUsage (nothing is
/// locked), verification.
[[nodiscard]] Result<forestcoll::Repaired> aroundLocked(const fabric::Fabric& fabric,
                                                        const schedule::Schedule& schedule,
                                                        const std::array<forestcoll::LockedTrees, 2>& locked,
                                                        const Progress& progress);

}  // namespace coppice::workflow
