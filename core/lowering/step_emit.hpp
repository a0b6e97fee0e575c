// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/progress.hpp"
#include "lowering/plan.hpp"
#include "lowering/step_work.hpp"

/// Internal to core/lowering: the steps of all threadblocks of a step schedule.
namespace coppice::lowering {

/// Copies of own chunks from the input to the output buffer, which programs out of place need.
struct StepCopies {
  struct Run {
    int firstItem = 0;
    int items = 0;
    program::Slot from = {};
    program::Slot to = {};
    int count = 0;
  };
  std::vector<std::vector<Run>> runsOf;  ///< by rank, ascending
  std::vector<CopyNeed> need;            ///< by rank; run i is done by copy threadblock i mod blocks
};
[[nodiscard]] StepCopies planCopies(const StepWork& work, const Options& options);

/// Writes the program: steps, slots, scratch, dependencies, then the instances side by side. Name, size window and
/// collective are the caller's. Throws CancelledError.
[[nodiscard]] program::Program emit(const StepWork& work, const Plan& plan, const StepCopies& copies,
                                    const Options& options, const Progress& progress);

}  // namespace coppice::lowering
