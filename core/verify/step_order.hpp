// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/rows.hpp"
#include "schedule/step_schedule.hpp"

/// In which order the transfers of a step schedule act on each piece of data.
namespace coppice::verify {

/// Thrown where pieces overlap so often that the waits or the intervals would be too many.
struct TooManyPieces {};

/// The transfers of each shard, ascending.
class ShardTransfers {
public:
  /// @pre every transfer names one of the shards
  ShardTransfers(const schedule::StepSchedule& schedule, std::int64_t shards);
  [[nodiscard]] std::span<const std::uint32_t> of(std::int64_t shard) const {
    return m_transfers[static_cast<std::size_t>(shard)];
  }

private:
  Rows<std::uint32_t> m_transfers;  ///< by shard
};

/// Walks over one shard from its begin to its end, from one end of a piece to the next.
class PieceSweep {
public:
  /// `transfers`: of one shard, ascending. The schedule and they must outlive the sweep.
  PieceSweep(const schedule::StepSchedule& schedule, std::span<const std::uint32_t> transfers);

  /// False at the end of the shard. Throws TooManyPieces.
  bool next();
  [[nodiscard]] std::int64_t begin() const { return m_begin; }
  [[nodiscard]] std::int64_t end() const { return m_end; }
  /// The transfers that carry the interval, ascending.
  [[nodiscard]] std::span<const std::uint32_t> transfers() const { return m_active; }

private:
  const schedule::StepSchedule& m_schedule;
  std::vector<std::uint32_t> m_byBegin;  ///< transfers, by begin, then ascending
  std::vector<std::int64_t> m_ends;      ///< of pieces and of the shard, ascending, each once
  std::size_t m_entered = 0;             ///< of m_byBegin
  std::size_t m_passed = 0;              ///< of m_ends
  std::size_t m_cover = 0;
  std::int64_t m_begin = 0;
  std::int64_t m_end = 0;
  std::vector<std::uint32_t> m_active;
};

/// An order of all transfers that the rule at StepSchedule allows.
struct StepOrder {
  std::vector<std::uint32_t> place;  ///< by transfer
  std::int32_t depth = 0;            ///< transfers in the longest chain of waits
  std::string cycle;                 ///< transfers that wait for each other; then the rest means nothing
};

/// @pre asynchronous; the transfers are sorted by phase and in range. Throws TooManyPieces, CancelledError.
[[nodiscard]] StepOrder orderOf(const schedule::StepSchedule& schedule, std::int64_t shards, const Progress& progress);

}  // namespace coppice::verify
