// SPDX-License-Identifier: Apache-2.0
#include "lowering/placement.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/checked.hpp"

namespace coppice::lowering {

using program::Buffer;
using program::Slot;

Placement::Placement(const schedule::CollectiveTable& goal, int chunks, bool inPlace)
    : m_goal(goal), m_collective(goal.collective()), m_ranks(goal.rankCount()), m_chunks(chunks), m_inPlace(inPlace) {
  if (hasUnits(goal)) {
    m_first.push_back(0);
    for (const std::int64_t units : unitsOf(goal)) {
      m_units.push_back(static_cast<int>(units));
      m_first.push_back(m_first.back() + m_chunks * m_units.back());
    }
  }
}

bool hasUnits(const schedule::CollectiveTable& goal) {
  const auto amounts = goal.amounts();
  return goal.collective() == Collective::custom ||
         std::adjacent_find(amounts.begin(), amounts.end(), std::not_equal_to<>()) != amounts.end();
}

std::vector<std::int64_t> unitsOf(const schedule::CollectiveTable& goal) {
  std::int64_t denominator = 1;
  for (std::int64_t shard = 0; shard < goal.shardCount(); ++shard) {
    denominator = leastCommonMultiple(denominator, goal.share(shard).denominator());
  }
  std::vector<std::int64_t> units;
  std::int64_t divisor = 0;
  for (std::int64_t shard = 0; shard < goal.shardCount(); ++shard) {
    const Rational share = goal.share(shard);
    units.push_back(checkedMul(share.numerator(), denominator / share.denominator()));
    divisor = std::gcd(divisor, units.back());
  }
  for (std::int64_t& unit : units) {
    unit /= std::max<std::int64_t>(divisor, 1);
  }
  return units;
}

bool Placement::isSource(int rank, std::int64_t shard) const {
  const auto ranks = m_goal.sources(shard);
  return std::binary_search(ranks.begin(), ranks.end(), rank);
}

bool Placement::isDestination(int rank, std::int64_t shard) const {
  const auto ranks = m_goal.destinations(shard);
  return std::binary_search(ranks.begin(), ranks.end(), rank);
}

bool Placement::isShared() const {
  return m_goal.shardCount() > 1 && m_collective != Collective::custom;
}

Slot Placement::contribution(int rank, std::int64_t shard, int offset) const {
  const int whole = wholeOf(shard, offset);
  switch (m_collective) {
    case Collective::custom:
      return {m_inPlace ? Buffer::output : Buffer::input, whole};
    case Collective::alltoall:
      return {Buffer::input, static_cast<int>(shard % m_ranks) * m_chunks + offset};
    case Collective::gather:
      return m_inPlace && isDestination(rank, shard) ? result(shard, offset) : Slot{Buffer::input, offset};
    case Collective::allgather:
      return m_inPlace ? Slot{Buffer::output, whole} : Slot{Buffer::input, offset};
    case Collective::broadcast:
    case Collective::allreduce:
      return {m_inPlace ? Buffer::output : Buffer::input, offset};
    case Collective::reduceScatter:
    case Collective::reduce:
    case Collective::scatter:
      break;
  }
  return {Buffer::input, whole};
}

Slot Placement::result(std::int64_t shard, int offset) const {
  const int whole = wholeOf(shard, offset);
  switch (m_collective) {
    case Collective::alltoall:
      return {Buffer::output, static_cast<int>(shard / m_ranks) * m_chunks + offset};
    case Collective::reduceScatter:
    case Collective::reduce:
      return m_inPlace ? Slot{Buffer::input, whole} : Slot{Buffer::output, offset};
    case Collective::scatter:
      return {Buffer::output, offset};
    case Collective::allgather:
    case Collective::gather:
    case Collective::broadcast:
    case Collective::allreduce:
    case Collective::custom:
      break;
  }
  return {Buffer::output, whole};
}

std::optional<Slot> Placement::room(int rank, std::int64_t shard, int offset) const {
  if (combines(shard) && m_inPlace && isSource(rank, shard)) {
    return contribution(rank, shard, offset);
  }
  if (isDestination(rank, shard)) {
    return result(shard, offset);
  }
  return std::nullopt;
}

int Placement::slice(int rank) const {
  if (m_first.empty()) {
    return m_chunks;
  }
  return isShared() ? m_first[rank + 1] - m_first[rank] : m_first.back();
}

int Placement::whole() const {
  if (!m_first.empty()) {
    return m_first.back();
  }
  return isShared() ? m_chunks * m_ranks : m_chunks;
}

std::vector<int> Placement::slices() const {
  std::vector<int> starts{0};
  for (int rank = 0; isShared() && rank < m_ranks; ++rank) {
    starts.push_back(starts.back() + slice(rank));
  }
  if (!isShared()) {
    starts.push_back(whole());
  }
  return starts;
}

int Placement::inputChunks(int rank) const {
  const bool isShare = m_collective == Collective::allgather || m_collective == Collective::gather;
  return isShare ? slice(rank) : whole();
}

int Placement::outputChunks(int rank) const {
  const bool isShare = m_collective == Collective::reduceScatter || m_collective == Collective::scatter;
  return isShare ? slice(rank) : whole();
}

int Placement::declaredInput(int rank) const {
  const bool isUsed =
      !m_inPlace || usesInputAlone() || m_collective == Collective::gather || m_collective == Collective::scatter;
  return isUsed ? inputChunks(rank) : 0;
}

int Placement::declaredOutput(int rank) const {
  return usesInputAlone() ? 0 : outputChunks(rank);
}

int Placement::chunksPerLoop() const {
  const bool countsShare = m_collective == Collective::gather || m_collective == Collective::scatter;
  return countsShare ? slice(0) : whole();
}

std::int64_t Placement::chunksOfAll() const {
  return whole();
}

}  // namespace coppice::lowering
