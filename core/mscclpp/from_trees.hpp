// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "mscclpp/execution_plan.hpp"
#include "schedule/forest.hpp"

/// Allreduces that the switches of NVLink domains sum and copy: multimem instructions, which no program of sends and
/// receives has.
namespace coppice::mscclpp {

struct TreePlanOptions {
  /// By rank: the NVLink domain that it is in, as of PlanOptions.
  std::vector<int> boxOf = {};
  int maxBlocks = 108;  ///< threadblocks of a rank that a GPU runs at once
  bool inPlace = true;
  int instances = 1;  ///< of every run of chunks, in threadblocks of their own
  int pieces = 4;     ///< of each that crosses domains: one is summed up while another is on its way
  std::int64_t minBytes = 0;
  std::int64_t maxBytes = 0;  ///< 0 = what 32 bits address
  std::string name = {};
};

/// Lowers a verified schedule of trees whose edges switches of NVLink domains sum (in-trees) and copy (out-trees).
///
/// A rank that takes the sum of a switch reads the sums of its group by glres, when all of them have said that they are
/// ready; where the same group gets the result from this rank, that operation stores it at once. Else it stores to a
/// group of two, as it has to store to one, and gstore copies the result later, which releases before the main branch
/// of August 2026 lack. Where a part goes in pieces, sums and results have threadblocks of their own. Edges without a
/// switch are puts into scratch (to the root) or into the buffer itself (from it): by memory channels inside a domain,
/// by port channels between two. Every run of chunks of a rank that moves data has a threadblock of its own, with
/// helpers where it talks to more ranks than a threadblock has channels; those that only take part in groups share
/// threadblocks.
///
/// Errors: those of readSwitchTrees; badUsage (a name is missing), limit (threadblocks of a rank, channels of one,
/// bytes that 32 bits address). Throws OverflowError, CancelledError.
[[nodiscard]] Result<ExecutionPlan> fromTrees(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                              const TreePlanOptions& options, const Progress& progress = {});

}  // namespace coppice::mscclpp
