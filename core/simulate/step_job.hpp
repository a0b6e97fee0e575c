// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "schedule/step_schedule.hpp"
#include "simulate/job.hpp"

namespace coppice::simulate {

/// When the transfers of a synchronous schedule start.
enum class Barriers {
  steps,  ///< a step begins when all transfers of the step before have arrived, as StepCost counts time
  none    ///< a transfer begins when its sender has the pieces that the schedule gives it in earlier steps
};

/// A step schedule as messages, one job for each phase; the phases run after each other. A synchronous schedule is one
/// phase.
///
/// Synchronous: what one rank sends to another in one step along one route is one message. Without barriers, messages
/// of one connection leave in the order of their steps, and receivers have free space for what comes early.
///
/// Asynchronous: each transfer is a connection of its own, which sends its pieces one after another; the repeats of a
/// run are these pieces. Messages wait as TransferOrder says, piece for piece. So that pieces agree, transfers that
/// cover each other in part are cut at each other's ends first. With `keepsOrder`, a piece leaves after the same piece
/// of the transfer before it in the list. `barriers` does not matter there.
///
/// Transfers without a route take the one that RouteFinder finds.
///
/// Errors: badInput (other number of ranks than GPUs; a route along a missing link), infeasible (no route),
/// verification (transfers that wait for each other), limit (pieces that overlap too often), cancelled.
/// @pre ranks, shards and pieces of the transfers are in range
[[nodiscard]] Result<std::vector<Job>> stepJobs(const fabric::Fabric& fabric, const schedule::StepSchedule& schedule,
                                                const Model& model, Barriers barriers, const Progress& progress = {});

}  // namespace coppice::simulate
