// SPDX-License-Identifier: Apache-2.0
#include "schedule/min_traffic.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/rows.hpp"

namespace coppice::schedule {
namespace {

using fabric::NodeIndex;
using fabric::Rank;

/// Links between GPUs.
class Distances {
public:
  explicit Distances(const fabric::Fabric& fabric)
      : m_fabric(fabric), m_firstOut(rowStarts(fabric.nodeCount(), fabric.arcs(), &fabric::Arc::tail)) {}

  /// By rank; -1 = not reached. Valid until the next call.
  const std::vector<int>& from(Rank rank) {
    m_hops.assign(m_fabric.nodeCount(), -1);
    m_queue.assign(1, m_fabric.gpus()[rank]);
    m_hops[m_queue.front()] = 0;
    for (std::size_t head = 0; head < m_queue.size(); ++head) {
      const NodeIndex node = m_queue[head];
      for (std::int32_t arc = m_firstOut[node]; arc < m_firstOut[node + 1]; ++arc) {
        const NodeIndex next = m_fabric.arcs()[arc].head;
        if (m_hops[next] < 0) {
          m_hops[next] = m_hops[node] + 1;
          m_queue.push_back(next);
        }
      }
    }
    m_byRank.clear();
    for (const NodeIndex gpu : m_fabric.gpus()) {
      m_byRank.push_back(m_hops[gpu]);
    }
    return m_byRank;
  }

private:
  const fabric::Fabric& m_fabric;
  std::vector<std::int32_t> m_firstOut;
  std::vector<int> m_hops;
  std::vector<NodeIndex> m_queue;
  std::vector<int> m_byRank;
};

Error notJoined() {
  return {ErrorCode::infeasible, "Some GPUs are not connected", "add a link"};
}

/// Shards with one source and one destination, each along a shortest route.
Result<Rational> unicast(Distances& distances, const CollectiveTable& goal, const Progress& progress) {
  Rational sum;
  for (Rank source = 0; source < goal.rankCount(); ++source) {
    throwIfCancelled(progress);
    const std::vector<int>& hops = distances.from(source);
    const bool isAlltoall = goal.collective() == Collective::alltoall;
    const std::int64_t first = isAlltoall ? std::int64_t{source} * goal.rankCount() : 0;
    const std::int64_t last = isAlltoall ? first + goal.rankCount() : goal.shardCount();
    for (std::int64_t shard = first; shard < last; ++shard) {
      if (goal.sources(shard).front() == source) {
        const int links = hops[goal.destinations(shard).front()];
        if (links < 0) {
          return notJoined();
        }
        sum += goal.share(shard) * Rational(links);
      }
    }
  }
  return sum;
}

/// Links of a minimum spanning tree over the GPUs (Prim); absent where directions differ.
Result<std::optional<std::int64_t>> spanningTree(Distances& distances, int ranks, const Progress& progress) {
  std::vector<std::uint16_t> hops(static_cast<std::size_t>(ranks) * ranks);
  for (Rank rank = 0; rank < ranks; ++rank) {
    throwIfCancelled(progress);
    const std::vector<int>& from = distances.from(rank);
    for (Rank other = 0; other < ranks; ++other) {
      if (from[other] < 0) {
        return notJoined();
      }
      const std::size_t place = static_cast<std::size_t>(rank) * ranks + other;
      hops[place] = static_cast<std::uint16_t>(std::min<int>(from[other], std::numeric_limits<std::uint16_t>::max()));
      if (other < rank && hops[place] != hops[static_cast<std::size_t>(other) * ranks + rank]) {
        return std::optional<std::int64_t>();
      }
    }
  }
  constexpr int kIn = -1;
  std::vector<int> nearest(hops.begin(), hops.begin() + ranks);
  nearest[0] = kIn;
  std::int64_t sum = 0;
  for (int added = 1; added < ranks; ++added) {
    Rank next = 0;
    for (Rank rank = 1; rank < ranks; ++rank) {
      if (nearest[rank] != kIn && (next == 0 || nearest[rank] < nearest[next])) {
        next = rank;
      }
    }
    sum += nearest[next];
    nearest[next] = kIn;
    for (Rank rank = 1; rank < ranks; ++rank) {
      nearest[rank] = std::min<int>(nearest[rank], hops[static_cast<std::size_t>(next) * ranks + rank]);
    }
  }
  return std::optional<std::int64_t>(sum);
}

Result<std::optional<Rational>> find(const fabric::Fabric& fabric, const CollectiveTable& goal,
                                     const Progress& progress) {
  if (goal.collective() == Collective::custom || fabric.gpuCount() > kMaxMinTrafficGpus ||
      goal.rankCount() != fabric.gpuCount()) {
    return std::optional<Rational>();
  }
  Distances distances(fabric);
  switch (goal.collective()) {
    case Collective::alltoall:
    case Collective::gather:
    case Collective::scatter: {
      const auto sum = unicast(distances, goal, progress);
      return sum ? Result<std::optional<Rational>>(*sum) : sum.error();
    }
    default:
      break;
  }
  const auto tree = spanningTree(distances, fabric.gpuCount(), progress);
  if (!tree) {
    return tree.error();
  }
  const std::int64_t trees = goal.collective() == Collective::allreduce ? 2 : 1;
  return *tree ? std::optional<Rational>(Rational(**tree * trees)) : std::nullopt;
}

}  // namespace

Result<std::optional<Rational>> minTraffic(const fabric::Fabric& fabric, const CollectiveTable& goal,
                                           const Progress& progress) {
  return guarded([&] { return find(fabric, goal, progress); },
                 {.overflow = "The traffic leaves the 64-bit range", .overflowFix = "use amounts with fewer digits"});
}

}  // namespace coppice::schedule
