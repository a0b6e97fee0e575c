// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/progress.hpp"
#include "schedule/step_schedule.hpp"

namespace coppice::verify {

/// A quick look at a synchronous schedule with few pieces per shard, in the order of its transfers, one bit for each
/// rank, shard and piece. True only where nothing at all is to be found: every transfer sends what its sender held when
/// the step began, no rank is given what it has, and every destination ends with all pieces. False says nothing.
///
/// A reduction is played backwards. If its transfers, turned round in space and time, are such a copy from the one
/// destination to all ranks, then for each piece they are a tree into that destination on which every rank sends once,
/// after all that reduce into it: each contribution arrives exactly once.
/// @pre transfers are in range and sorted by step. Throws CancelledError.
[[nodiscard]] bool playsCleanly(const schedule::StepSchedule& schedule, const Progress& progress = {});

}  // namespace coppice::verify
