// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"
#include "schedule/step_schedule.hpp"

namespace coppice::schedule {

/// The trees of a forest as an asynchronous step schedule: the trees of a root carry consecutive pieces of its shard,
/// each cut into `piecesPerTree` equal ones. The halves of allreduce are two phases, or one where they overlap: both
/// cut the M bytes by roots, then by trees. Errors: badUsage (in-network pruning, which transfers cannot say;
/// piecesPerTree below 1), limit (more than 2^31 transfers), overflow, cancelled.
Result<StepSchedule> stepScheduleOf(const fabric::Fabric& fabric, const Schedule& schedule, int piecesPerTree = 1,
                                    const Progress& progress = {});

}  // namespace coppice::schedule
