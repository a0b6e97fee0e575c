// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/repair/repair.hpp"
#include "schedule/forest.hpp"
#include "schedule/tree_edit.hpp"

/// Trees changed by hand, and the others made around those that are to stay.
namespace coppice::workflow {

struct Sculpted {
  schedule::Schedule schedule;  ///< verified; its algbw may be below that of before
  std::size_t half = 1;         ///< 0 = the reduce forest, 1 = the broadcast forest
  std::int64_t tree = 0;        ///< that was changed, in the order of TreeReader
};

/// Gives a GPU of one tree another parent. In an allreduce the other half stays as it is. Bound and cuts stay; trees
/// below the bound state their k. Errors: those of schedule::withNewParent, badUsage (no such half, halves that run at
/// the same time), those of schedule::expanded, verification.
[[nodiscard]] Result<Sculpted> sculpted(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                        std::size_t half, const schedule::NewParent& change, const Progress& progress);

/// The best schedule that has the locked trees, by half and in the order of TreeReader, verified. Errors: those of
/// forestcoll::repaired, badUsage (nothing is locked), verification.
[[nodiscard]] Result<forestcoll::Repaired> aroundLocked(const fabric::Fabric& fabric,
                                                        const schedule::Schedule& schedule,
                                                        const std::array<forestcoll::LockedTrees, 2>& locked,
                                                        const Progress& progress);

}  // namespace coppice::workflow
