// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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
/// are the caller's. Throws CancelledError. @param origins may be null
program::Program emit(const Work& work, const Plan& plan, const Copies& copies, const Options& options,
                      const Progress& progress, StepOrigins* origins = nullptr);

/// Checks the finished program, not the plan: sends and receives of every connection pair off with equal counts, and no
/// run can get stuck. For that, one of two graphs must have no cycle:
/// - program order and dependencies, with the two ends of every message taken as one event. Then the events can happen
///   one after the other in a topological order, needing no room but their own: right at any depth.
/// - every chunk of every step a message of its own, with program order, dependencies, messages, and receive k before
///   send k + depth. Fewer, larger messages wait for less: their edges are paths of this graph. So it is right for all
///   sizes at this depth or more.
/// All edges between iterations of the program run forward, so one iteration shows it for all.
/// Errors: internal, naming what is wrong. Throws CancelledError.
Outcome proveProgress(const program::Program& program, const Progress& progress);

/// Time between iterations of the program in a steady run, in units of what one threadblock needs for one chunk, on
/// links that are never the bottleneck. At least 1.
std::int64_t paceOf(const program::Program& program, const Progress& progress);

}  // namespace coppice::lowering
