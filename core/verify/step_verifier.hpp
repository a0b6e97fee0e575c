// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/step_figures.hpp"
#include "schedule/step_schedule.hpp"

namespace coppice::verify {

struct StepVerdict {
  bool ok = false;
  std::vector<Finding> findings;           ///< as in ScheduleVerdict
  std::optional<schedule::StepCost> cost;  ///< recomputed; absent where the transfers are not even in range
};

/// Checks a step schedule by playing it, sharing nothing with generators.
///
/// Shape: the fabric's digest; as many ranks as GPUs; every transfer names an existing shard, a piece that is not empty
/// and lies within it, two different GPUs and a step that exists, in order of steps; only combining shards are reduced;
/// each route exists, joins the right GPUs and relays through nics and switches alone.
///
/// Data, for each interval of each shard between two ends of pieces. Of a shard that does not combine, the state is who
/// holds it; of a combining one, the set of contributors at each rank. Reading what the sender does not hold is a
/// fault; so is adding a contributor that is there already, and storing beside another write of the same step to the
/// same interval of a rank (unless both store the same: then it is a warning). A store of what is there already is a
/// warning. At the end every destination holds every interval, with the contributions of all sources.
/// Asynchronous schedules are played in an order that the rule at StepSchedule allows; that rule orders all transfers
/// that touch the same data, so that every order allowed gives the same result. A cycle of waits is a fault.
///
/// Claims: algbw equals the recomputed one exactly.
///
/// Shards are played on all cores. Time grows with the sum over transfers of the intervals that they cover, times the
/// ranks / 64 where a shard combines. Errors: overflow, limit (pieces that overlap too often), cancelled.
Result<StepVerdict> verifySteps(const fabric::Fabric& fabric, const schedule::StepSchedule& schedule,
                                const Progress& progress = {});

}  // namespace coppice::verify
