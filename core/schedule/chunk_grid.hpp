// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/step_schedule.hpp"

/// Equal chunks of shards, which programs move.
namespace coppice::schedule {

/// The smallest number of equal chunks of every shard such that all pieces begin and end between two of them: the
/// minimum common denominator of the ends of all pieces.
[[nodiscard]] std::int64_t exactGrid(const StepSchedule& schedule);

/// The schedule with every end of a piece at the nearest border between `chunks` equal chunks of its shard (the later
/// one of two equally near). Ends keep their order, so that whatever held of the pieces holds of the new ones, and the
/// schedule stays valid; pieces between equal borders are dropped. Its denominator is `chunks`, its algbw that of
/// stepCost. Errors: badUsage (chunks < 1), those of stepCost.
[[nodiscard]] Result<StepSchedule> onGrid(const fabric::Fabric& fabric, const StepSchedule& schedule,
                                          std::int64_t chunks, const Progress& progress = {});

}  // namespace coppice::schedule
