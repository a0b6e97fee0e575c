// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "lowering/lowering.hpp"
#include "lowering/plan.hpp"
#include "lowering/work.hpp"

/// Internal to core/lowering: the steps of all threadblocks.
namespace coppice::lowering {

/// Copies of own chunks from the input to the output buffer, which out-of-place gathering needs.
struct Copies {
  struct Run {
    int start = 0;  ///< chunk in the full buffer
    int count = 0;
  };
  std::vector<std::vector<Run>> runsOf;  ///< by rank, ascending; no part straddles two runs
  std::vector<CopyNeed> need;            ///< by rank; run i is done by copy threadblock i mod blocks
};
[[nodiscard]] Copies planCopies(const Work& work, const Options& options);

/// Writes the program: steps, slots, dependencies, then the instances side by side. Name, size window and collective
/// are the caller's. Throws CancelledError.
program::Program emit(const Work& work, const Plan& plan, const Copies& copies, const Options& options,
                      const Progress& progress);

/// Checks the finished program, not the plan: sends and receives of every connection pair off with equal counts, and
/// program order and dependencies, with the two ends of every message taken as one event, have no cycle. Then no
/// run can get stuck, at any connection depth: take the events in a topological order; when all before one are done,
/// both ends of it stand ready and need no room but their own. Iterations follow each other in the same way.
/// Errors: internal, naming the threadblock.
Outcome proveProgress(const program::Program& program);

}  // namespace coppice::lowering
