// SPDX-License-Identifier: Apache-2.0
#include "schedule/collective_table.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/checked.hpp"

namespace coppice::schedule {
namespace {

using fabric::Rank;

bool hasShardPerRank(Collective collective) {
  return collective == Collective::allgather || collective == Collective::reduceScatter ||
         collective == Collective::gather || collective == Collective::scatter;
}

std::optional<Error> checkRanks(std::vector<Rank>& ranks, int rankCount, const std::string& what,
                                const ElementRef& row) {
  const auto fault = [&](const std::string& text) {
    return Error{ErrorCode::badInput,
                 text,
                 "name ranks from 0 to " + std::to_string(rankCount - 1) + ", each once",
                 {.element = row}};
  };
  if (ranks.empty()) {
    return fault("The shard has no " + what);
  }
  std::sort(ranks.begin(), ranks.end());
  if (ranks.front() < 0 || ranks.back() >= rankCount) {
    const Rank outside = ranks.front() < 0 ? ranks.front() : ranks.back();
    return fault("Rank " + std::to_string(outside) + " among its " + what + "s is not in the fabric");
  }
  const auto twice = std::adjacent_find(ranks.begin(), ranks.end());
  if (twice != ranks.end()) {
    return fault("Rank " + std::to_string(*twice) + " is named twice among its " + what + "s");
  }
  return std::nullopt;
}

}  // namespace

Result<CollectiveTable> CollectiveTable::make(Collective collective, int rankCount, std::optional<Rank> root,
                                              std::span<const std::int64_t> amounts) {
  if (collective == Collective::custom) {
    return Error{ErrorCode::badUsage, "A custom collective needs a table of shards", "give the table"};
  }
  if (rankCount < 1) {
    return Error{ErrorCode::badUsage, "A collective needs at least one rank"};
  }
  if (isRooted(collective) != root.has_value()) {
    return Error{ErrorCode::badUsage, std::string(toString(collective)) + (root ? " has no root" : " needs a root"),
                 root ? "leave the root out" : "name the root"};
  }
  if (root && (*root < 0 || *root >= rankCount)) {
    return Error{ErrorCode::badUsage, "The root, rank " + std::to_string(*root) + ", is not in the fabric",
                 "name a rank from 0 to " + std::to_string(rankCount - 1)};
  }
  const std::int64_t n = rankCount;
  CollectiveTable table;
  table.m_collective = collective;
  table.m_rankCount = rankCount;
  table.m_root = root;
  table.m_shardCount = collective == Collective::alltoall ? n * n : hasShardPerRank(collective) ? n : 1;
  table.m_ranks.resize(rankCount);
  std::iota(table.m_ranks.begin(), table.m_ranks.end(), 0);
  if (amounts.empty()) {
    return table;
  }
  if (table.m_shardCount == 1) {
    return Error{ErrorCode::badUsage, std::string(toString(collective)) + " has no amounts per rank",
                 "leave the amounts out"};
  }
  if (static_cast<std::int64_t>(amounts.size()) != table.m_shardCount) {
    return Error{ErrorCode::badUsage, std::to_string(amounts.size()) + " amounts are given, " +
                                          std::to_string(table.m_shardCount) + " are needed"};
  }
  try {
    for (const std::int64_t amount : amounts) {
      if (amount < 0) {
        return Error{ErrorCode::badUsage, "An amount is negative"};
      }
      table.m_amountSum = checkedAdd(table.m_amountSum, amount);
    }
  } catch (const OverflowError&) {
    return Error{ErrorCode::overflow, "The amounts leave the 64-bit range", "divide them by a common factor"};
  }
  if (table.m_amountSum == 0) {
    return Error{ErrorCode::badUsage, "All amounts are zero"};
  }
  table.m_amounts.assign(amounts.begin(), amounts.end());
  return table;
}

Result<CollectiveTable> CollectiveTable::custom(int rankCount, std::span<const CustomShard> shards) {
  CollectiveTable table;
  table.m_collective = Collective::custom;
  table.m_rankCount = rankCount;
  table.m_shardCount = static_cast<std::int64_t>(shards.size());
  table.m_custom.assign(shards.begin(), shards.end());
  table.m_ranks.resize(std::max(0, rankCount));
  std::iota(table.m_ranks.begin(), table.m_ranks.end(), 0);
  bool isPositive = false;
  for (std::size_t i = 0; i < table.m_custom.size(); ++i) {
    CustomShard& shard = table.m_custom[i];
    const ElementRef row{RefKind::shard, i};
    if (auto error = checkRanks(shard.sources, rankCount, "source", row)) {
      return *error;
    }
    if (auto error = checkRanks(shard.destinations, rankCount, "destination", row)) {
      return *error;
    }
    if (shard.share < Rational(0)) {
      return Error{ErrorCode::badInput,
                   "The share " + shard.share.toString() + " is negative",
                   "give a share of at least 0",
                   {.element = row}};
    }
    isPositive |= shard.share.isPositive();
  }
  if (!isPositive) {
    return Error{ErrorCode::badInput, shards.empty() ? "The table has no shard" : "All shares are zero",
                 "give at least one shard with a positive share"};
  }
  return table;
}

Rational CollectiveTable::share(std::int64_t shard) const {
  if (m_collective == Collective::custom) {
    return m_custom[shard].share;
  }
  if (!m_amounts.empty()) {
    const Rational part(m_amounts[shard], m_amountSum);
    return m_collective == Collective::alltoall ? part * Rational(m_rankCount) : part;
  }
  return m_shardCount == 1 ? Rational(1) : Rational(1, m_rankCount);
}

std::span<const Rank> CollectiveTable::sources(std::int64_t shard) const {
  switch (m_collective) {
    case Collective::allgather:
    case Collective::gather:
      return only(shard);
    case Collective::broadcast:
    case Collective::scatter:
      return only(*m_root);
    case Collective::alltoall:
      return only(shard / m_rankCount);
    case Collective::reduceScatter:
    case Collective::reduce:
    case Collective::allreduce:
      return all();
    case Collective::custom:
      break;
  }
  return m_custom[shard].sources;
}

std::span<const Rank> CollectiveTable::destinations(std::int64_t shard) const {
  switch (m_collective) {
    case Collective::allgather:
    case Collective::broadcast:
    case Collective::allreduce:
      return all();
    case Collective::gather:
    case Collective::reduce:
      return only(*m_root);
    case Collective::scatter:
    case Collective::reduceScatter:
      return only(shard);
    case Collective::alltoall:
      return only(shard % m_rankCount);
    case Collective::custom:
      break;
  }
  return m_custom[shard].destinations;
}

bool CollectiveTable::combines(std::int64_t shard) const {
  return m_collective == Collective::custom ? m_custom[shard].combines : reduces(m_collective);
}

Rank ownerOf(const CollectiveTable& table, std::int64_t shard) {
  const auto sources = table.sources(shard);
  const auto destinations = table.destinations(shard);
  return sources.size() == 1 ? sources[0] : destinations.size() == 1 ? destinations[0] : -1;
}

std::string differenceFrom(const CollectiveTable& wanted, const CollectiveTable& table) {
  if (wanted.rankCount() != table.rankCount()) {
    return std::to_string(table.rankCount()) + " ranks, " + std::to_string(wanted.rankCount()) + " are expected";
  }
  if (wanted.shardCount() != table.shardCount()) {
    return std::to_string(table.shardCount()) + " shards, " + std::to_string(wanted.shardCount()) + " are expected";
  }
  const auto list = [](std::span<const Rank> ranks) {
    std::string text;
    for (std::size_t i = 0; i < ranks.size() && i < 8; ++i) {
      text += (i > 0 ? " " : "") + std::to_string(ranks[i]);
    }
    return ranks.size() > 8 ? text + " ..." : text;
  };
  for (std::int64_t shard = 0; shard < wanted.shardCount(); ++shard) {
    const std::string name = "shard " + std::to_string(shard) + ": ";
    if (wanted.share(shard) != table.share(shard)) {
      return name + "share " + table.share(shard).toString() + ", " + wanted.share(shard).toString() + " is expected";
    }
    if (!std::ranges::equal(wanted.sources(shard), table.sources(shard))) {
      return name + "sources " + list(table.sources(shard)) + ", " + list(wanted.sources(shard)) + " are expected";
    }
    if (!std::ranges::equal(wanted.destinations(shard), table.destinations(shard))) {
      return name + "destinations " + list(table.destinations(shard)) + ", " + list(wanted.destinations(shard)) +
             " are expected";
    }
    if (wanted.combines(shard) != table.combines(shard)) {
      return name +
             (table.combines(shard) ? "it combines, which is not expected" : "it does not combine, as is expected");
    }
  }
  return {};
}

}  // namespace coppice::schedule
