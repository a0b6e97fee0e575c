// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/rows.hpp"
#include "schedule/step_schedule.hpp"

namespace coppice::schedule {

/// Which transfers wait for which, in an asynchronous schedule (the rule is at StepSchedule).
struct TransferOrder {
  std::vector<std::uint32_t> order;     ///< transfers, each after all that it waits for
  std::vector<std::int64_t> firstWait;  ///< by transfer, into `waits`; one more at the end
  std::vector<std::uint32_t> waits;     ///< transfers that the transfer waits for, ascending, each once
  std::int32_t depth = 0;               ///< length of the longest chain, in transfers
};

/// Errors: verification naming a transfer that waits for itself through others; limit; cancelled.
/// @pre asynchronous; sorted by phase; shards, pieces and ranks of the transfers are in range
Result<TransferOrder> transferOrder(const StepSchedule& schedule, const Progress& progress = {});

/// The points at which pieces of one shard begin or end, and which transfers cover each interval between two of them.
struct PieceGrid {
  std::vector<std::int64_t> points;              ///< ascending; interval i is [points[i], points[i+1])
  Rows<std::uint32_t, std::uint64_t> transfers;  ///< by interval: indices into the schedule's list, ascending
};
/// `transfers`: those of one shard, ascending. Throws PieceLimitReached.
[[nodiscard]] PieceGrid pieceGrid(const StepSchedule& schedule, std::span<const std::uint32_t> transfers);

/// Indices of the transfers of each shard, ascending.
[[nodiscard]] Rows<std::uint32_t, std::uint64_t> transfersByShard(const StepSchedule& schedule);

/// Thrown where the transfers overlap so often that the table of pieces would not fit.
struct PieceLimitReached {};

}  // namespace coppice::schedule
