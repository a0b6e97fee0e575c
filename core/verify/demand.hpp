// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/checked.hpp"
#include "base/collective.hpp"
#include "base/rational.hpp"
#include "schedule/collective_table.hpp"

namespace coppice::verify {

/// What a collective asks for, from its name, root, amounts and rows alone; what the table derives from them is not
/// asked. Shards are numbered as CollectiveTable says.
class Demand {
public:
  /// The table must outlive it. Throws OverflowError.
  explicit Demand(const schedule::CollectiveTable& table)
      : m_collective(table.collective()),
        m_amounts(table.amounts()),
        m_rows(table.rows()),
        m_root(table.root()),
        m_ranks(static_cast<std::size_t>(table.rankCount())) {
    std::iota(m_ranks.begin(), m_ranks.end(), 0);
    for (const std::int64_t amount : m_amounts) {
      m_amountSum = checkedAdd(m_amountSum, amount);
    }
  }

  [[nodiscard]] int rankCount() const { return static_cast<int>(m_ranks.size()); }

  [[nodiscard]] std::int64_t shardCount() const {
    const std::int64_t ranks = rankCount();
    switch (m_collective) {
      case Collective::allgather:
      case Collective::reduceScatter:
      case Collective::gather:
      case Collective::scatter:
        return ranks;
      case Collective::alltoall:
        return ranks * ranks;
      case Collective::broadcast:
      case Collective::reduce:
      case Collective::allreduce:
        return 1;
      case Collective::custom:
        break;
    }
    return static_cast<std::int64_t>(m_rows.size());
  }

  /// Of the M bytes; those of alltoall are one rank's.
  [[nodiscard]] Rational share(std::int64_t shard) const {
    if (m_collective == Collective::custom) {
      return m_rows[static_cast<std::size_t>(shard)].share;
    }
    const std::int64_t parts = m_collective == Collective::alltoall ? rankCount() : shardCount();
    if (m_amounts.empty()) {
      return {1, parts};
    }
    const Rational ofAll(m_amounts[static_cast<std::size_t>(shard)], m_amountSum);
    return m_collective == Collective::alltoall ? ofAll * Rational(parts) : ofAll;
  }

  [[nodiscard]] bool combines(std::int64_t shard) const {
    switch (m_collective) {
      case Collective::reduceScatter:
      case Collective::reduce:
      case Collective::allreduce:
        return true;
      case Collective::custom:
        return m_rows[static_cast<std::size_t>(shard)].combines;
      default:
        return false;
    }
  }

  /// The ranks that hold the shard, or their part of the sum, at the start. Ascending.
  [[nodiscard]] std::span<const fabric::Rank> sources(std::int64_t shard) const {
    switch (m_collective) {
      case Collective::allgather:
      case Collective::gather:
        return only(shard);
      case Collective::broadcast:
      case Collective::scatter:
        return only(m_root.value_or(0));
      case Collective::alltoall:
        return only(shard / rankCount());
      case Collective::custom:
        return m_rows[static_cast<std::size_t>(shard)].sources;
      default:
        return m_ranks;
    }
  }

  /// The ranks that hold the shard, or the whole sum, at the end. Ascending.
  [[nodiscard]] std::span<const fabric::Rank> destinations(std::int64_t shard) const {
    switch (m_collective) {
      case Collective::reduceScatter:
      case Collective::scatter:
        return only(shard);
      case Collective::reduce:
      case Collective::gather:
        return only(m_root.value_or(0));
      case Collective::alltoall:
        return only(shard % rankCount());
      case Collective::custom:
        return m_rows[static_cast<std::size_t>(shard)].destinations;
      default:
        return m_ranks;
    }
  }

private:
  [[nodiscard]] std::span<const fabric::Rank> only(std::int64_t rank) const {
    return std::span(m_ranks).subspan(static_cast<std::size_t>(rank), 1);
  }

  Collective m_collective;
  std::span<const std::int64_t> m_amounts;
  std::span<const schedule::CustomShard> m_rows;
  std::optional<fabric::Rank> m_root;
  std::vector<fabric::Rank> m_ranks;
  std::int64_t m_amountSum = 0;
};

}  // namespace coppice::verify
