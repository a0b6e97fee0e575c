// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "program/program.hpp"
#include "schedule/collective_table.hpp"

/// Internal to core/lowering: where a collective keeps its shards.
namespace coppice::lowering {

/// The buffers of the caller, in equal chunks.
class Placement {
public:
  /// @param chunks of each shard; of custom ones and unequal amounts, of each unit of its share (unitsOf)
  /// @pre not alltoall in place; unequal amounts have as many shards as ranks
  Placement(const schedule::CollectiveTable& goal, int chunks, bool inPlace);

  [[nodiscard]] std::span<const int> sources(std::int64_t shard) const { return m_goal.sources(shard); }
  [[nodiscard]] bool isSource(int rank, std::int64_t shard) const;
  [[nodiscard]] bool isDestination(int rank, std::int64_t shard) const;
  [[nodiscard]] bool combines(std::int64_t shard) const { return m_goal.combines(shard); }

  /// Where a source has its own data of the shard before anything runs. @param offset in chunks of the shard
  [[nodiscard]] program::Slot contribution(int rank, std::int64_t shard, int offset) const;
  /// Where a destination wants the shard.
  [[nodiscard]] program::Slot result(std::int64_t shard, int offset) const;
  /// Where the caller's buffers have room for the shard at a rank, and it may be written; otherwise it takes scratch.
  [[nodiscard]] std::optional<program::Slot> room(int rank, std::int64_t shard, int offset) const;
  /// Own data is copied to the result first and sent from there, so that both ends of a message use the same place:
  /// checkers of MSCCL XML want it.
  [[nodiscard]] bool sendsCopies() const {
    return !m_inPlace && (m_collective == Collective::allgather || m_collective == Collective::broadcast);
  }

  [[nodiscard]] int chunksOf(std::int64_t shard) const { return m_chunks * (m_units.empty() ? 1 : m_units[shard]); }
  /// What the caller declares at a rank: in place, a buffer that is not used has none.
  [[nodiscard]] int declaredInput(int rank) const;
  [[nodiscard]] int declaredOutput(int rank) const;
  /// Of a buffer that all ranks share: the first chunk of each one's share, and one more at the end; of one that is not
  /// shared, 0 and the end.
  [[nodiscard]] std::vector<int> slices() const;
  [[nodiscard]] int chunksPerLoop() const;         ///< as the runtimes count them
  [[nodiscard]] std::int64_t chunksOfAll() const;  ///< of the M bytes that the algbw counts

private:
  [[nodiscard]] bool isShared() const;
  [[nodiscard]] int slice(
      int rank) const;              ///< chunks that a rank's share of a buffer takes; all where it is not shared
  [[nodiscard]] int whole() const;  ///< chunks of a buffer with the shares of all ranks
  [[nodiscard]] int inputChunks(int rank) const;
  [[nodiscard]] int outputChunks(int rank) const;
  /// The shard's place in a buffer that holds all of them.
  [[nodiscard]] int wholeOf(std::int64_t shard, int offset) const {
    return (m_first.empty() ? static_cast<int>(shard) * m_chunks : m_first[shard]) + offset;
  }
  [[nodiscard]] bool usesInputAlone() const {
    return m_inPlace && (m_collective == Collective::reduce || m_collective == Collective::reduceScatter);
  }

  const schedule::CollectiveTable& m_goal;
  Collective m_collective;
  int m_ranks;
  int m_chunks;
  bool m_inPlace;
  std::vector<int> m_units;  ///< custom, and unequal amounts: by shard
  std::vector<int> m_first;  ///< of the same: by shard, its first chunk of the buffers; one more at the end
};

/// Whether shards have shares of different sizes.
[[nodiscard]] bool hasUnits(const schedule::CollectiveTable& goal);
/// The shares of the shards of a custom collective, or of unequal amounts, as whole numbers without a common divisor.
/// Throws OverflowError.
[[nodiscard]] std::vector<std::int64_t> unitsOf(const schedule::CollectiveTable& goal);

}  // namespace coppice::lowering
