// SPDX-License-Identifier: Apache-2.0
#include "groups/oracle.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <utility>

#include "base/failure.hpp"
#include "base/rows.hpp"
#include "base/text.hpp"
#include "groups/arborescence.hpp"

namespace coppice::groups {
namespace {

using schedule::ConcurrentGroup;
using schedule::ConcurrentTree;
using std::int64_t;

constexpr Int128 kFar = Int128{1} << 120;
/// Prices times this leave room for the preferences of all links of a tree.
constexpr int kPreferenceBits = 40;
constexpr int64_t kMaxPreference = int64_t{1} << 16;

bool isPathwise(Collective collective) {
  return collective == Collective::alltoall || movesShards(collective);
}

bool sendsOut(Collective collective) {
  return collective == Collective::allgather || collective == Collective::broadcast ||
         collective == Collective::allreduce || collective == Collective::alltoall || collective == Collective::scatter;
}

bool takesIn(Collective collective) {
  return collective == Collective::allreduce || !sendsOut(collective);
}

}  // namespace

Oracle::Oracle(const fabric::Fabric& fabric, const schedule::ConcurrentDemand& demand, const Classes& classes)
    : m_fabric(fabric),
      m_demand(demand),
      m_classes(classes),
      m_firstOut(rowStarts(fabric.nodes().size(), fabric.arcs(), &fabric::Arc::tail)),
      m_neighbours(neighboursOf(fabric)) {
  for (std::size_t arc = 0; arc < fabric.arcs().size(); ++arc) {
    m_preference.push_back(static_cast<int64_t>((arc * 2654435761U) % 1009U));
  }
  for (const Share& share : classes.shares) {
    const auto size = demand.groups[share.group].ranks.size();
    m_work += 40 * size * size * (1 + share.roots.size()) + 20 * size * m_firstOut.size();
  }
}

void Oracle::prefer(const std::vector<double>& used) {
  const double max = *std::max_element(used.begin(), used.end());
  for (std::size_t arc = 0; arc < m_preference.size(); ++arc) {
    if (m_classes.ofArc[arc] >= 0 && max > 0) {
      const double part = used[m_classes.ofArc[arc]] / max;
      m_preference[arc] = 512 + static_cast<int64_t>(part * static_cast<double>(kMaxPreference - 1024)) +
                          static_cast<int64_t>((arc * 2654435761U) % 509U);
    }
  }
}

GroupNetwork Oracle::networkOf(const ConcurrentGroup& group) const {
  std::vector<fabric::NodeIndex> members;
  for (const fabric::Rank rank : group.ranks) {
    members.push_back(m_fabric.gpus()[rank]);
  }
  return {m_fabric, members, usableNodes(m_fabric, m_demand, group), m_firstOut, m_neighbours};
}

Oracle::Reach Oracle::reachFrom(const GroupNetwork& network, int start, std::size_t members, bool passesMembers,
                                const std::vector<Int128>& costOf) {
  std::vector<Int128> distance(static_cast<std::size_t>(network.nodeCount()), kFar);
  Reach reach{{}, std::vector<std::int32_t>(distance.size(), -1)};
  using Item = std::pair<Int128, int>;
  std::priority_queue<Item, std::vector<Item>, std::greater<>> queue;
  distance[start] = 0;
  queue.emplace(0, start);
  std::size_t unreached = members - (static_cast<std::size_t>(start) < members ? 1 : 0);
  Int128 longest = kFar;  // of the members, as soon as all are reached: later paths are no shorter
  while (!queue.empty() && queue.top().first < longest) {
    const auto [length, node] = queue.top();
    queue.pop();
    if (length != distance[node]) {
      continue;
    }
    for (const GroupNetwork::Way& way : network.waysFrom(node)) {
      const std::ptrdiff_t number = &way - network.ways().data();
      const Int128 next = length + costOf[static_cast<std::size_t>(number)];
      if (next >= distance[way.head]) {
        continue;
      }
      const bool isMember = static_cast<std::size_t>(way.head) < members;
      unreached -= isMember && distance[way.head] == kFar ? 1 : 0;
      distance[way.head] = next;
      reach.wayInto[way.head] = static_cast<std::int32_t>(number);
      if (!isMember || passesMembers) {
        queue.emplace(next, way.head);
      }
    }
    if (unreached == 0 && longest == kFar) {
      longest = *std::max_element(distance.begin(), distance.begin() + static_cast<std::ptrdiff_t>(members));
    }
  }
  distance.resize(members);
  reach.lengths = std::move(distance);
  return reach;
}

void Oracle::findPaths(const GroupNetwork& network, bool passesMembers, const std::vector<Int128>& costs,
                       const std::vector<char>& wanted) {
  const std::size_t size = wanted.size();
  std::vector<Int128> costOf;
  for (const GroupNetwork::Way& way : network.ways()) {
    Int128 cost = 0;
    for (const std::int32_t arc : network.arcsOf(way)) {
      cost += costs[arc];
    }
    costOf.push_back(cost);
  }
  m_reach.assign(static_cast<std::size_t>(network.nodeCount()), {});
  m_lengths.assign(size * size, kFar);
  m_firstWay.assign(passesMembers ? 0 : size * size, -1);
  for (std::size_t from = 0; from < size; ++from) {
    if (wanted[from] == 0) {
      continue;
    }
    const auto row = m_lengths.begin() + static_cast<std::ptrdiff_t>(from * size);
    if (passesMembers) {
      m_reach[from] = reachFrom(network, static_cast<int>(from), size, true, costOf);
      std::copy(m_reach[from].lengths.begin(), m_reach[from].lengths.end(), row);
      continue;
    }
    // Many members have the same relays beside them, and all of a path but its first way is between relays.
    const auto firstWay = m_firstWay.begin() + static_cast<std::ptrdiff_t>(from * size);
    const auto take = [&](std::size_t to, Int128 length, std::ptrdiff_t way) {
      if (length < row[static_cast<std::ptrdiff_t>(to)]) {
        row[static_cast<std::ptrdiff_t>(to)] = length;
        firstWay[static_cast<std::ptrdiff_t>(to)] = static_cast<std::int32_t>(way);
      }
    };
    for (const GroupNetwork::Way& way : network.waysFrom(static_cast<int>(from))) {
      const std::ptrdiff_t number = &way - network.ways().data();
      const Int128 cost = costOf[static_cast<std::size_t>(number)];
      if (static_cast<std::size_t>(way.head) < size) {
        take(static_cast<std::size_t>(way.head), cost, number);
        continue;
      }
      Reach& reach = m_reach[way.head];
      if (reach.lengths.empty()) {
        reach = reachFrom(network, way.head, size, false, costOf);
      }
      for (std::size_t to = 0; to < size; ++to) {
        take(to, cost + reach.lengths[to], number);
      }
    }
  }
}

void Oracle::refuse(const ConcurrentGroup& group, int from, int to) const {
  const auto id = [&](int place) { return inQuotes(m_fabric.nodes()[m_fabric.gpus()[group.ranks[place]]].id); };
  const auto index = static_cast<std::size_t>(&group - m_demand.groups.data());
  const std::string what = "group " + std::to_string(index) + " has no path from " + id(from) + " to " + id(to);
  if (!m_demand.relays.empty()) {
    throw Failure{{ErrorCode::infeasible, what, "add links, or form other groups"}};
  }
  throw Failure{{ErrorCode::infeasible, what + " over its own GPUs and relays",
                 "let GPUs of other groups pass its data on, or form other groups",
                 Place{.element = {RefKind::option, "--relay"}}}};
}

std::vector<std::int32_t> Oracle::path(const ConcurrentGroup& group, const GroupNetwork& network, int from,
                                       int to) const {
  std::vector<std::int32_t> arcs;
  const auto add = [&](std::int32_t number) -> const GroupNetwork::Way& {
    if (number < 0) {
      refuse(group, from, to);
    }
    const GroupNetwork::Way& way = network.ways()[static_cast<std::size_t>(number)];
    const auto of = network.arcsOf(way);
    arcs.insert(arcs.end(), of.rbegin(), of.rend());
    return way;
  };
  // From its end backwards.
  std::int32_t firstWay = -1;
  int start = from;
  if (!m_firstWay.empty()) {
    firstWay = m_firstWay[static_cast<std::size_t>(from) * group.ranks.size() + static_cast<std::size_t>(to)];
    if (firstWay < 0) {
      refuse(group, from, to);
    }
    start = network.ways()[static_cast<std::size_t>(firstWay)].head;
  }
  for (int node = to; node != start;) {
    node = add(m_reach[start].wayInto[node]).tail;
  }
  if (firstWay >= 0) {
    add(firstWay);
  }
  std::reverse(arcs.begin(), arcs.end());
  return arcs;
}

Int128 Oracle::addTree(const ConcurrentGroup& group, const GroupNetwork& network, int root, bool isIn,
                       ConcurrentTree& tree) {
  const std::size_t size = group.ranks.size();
  std::vector<int> next(size, root);
  if (isPathwise(group.collective)) {
    // Everyone deals with the root.
  } else if (isIn) {
    // Turned round, the arc into a member is the path from it.
    next = cheapestArborescence(static_cast<int>(size), root, m_lengths);
  } else {
    constexpr std::size_t kBlock = 32;  // squares that fit into the cache
    m_turned.resize(m_lengths.size());
    for (std::size_t row = 0; row < size; row += kBlock) {
      for (std::size_t column = 0; column < size; column += kBlock) {
        for (std::size_t to = column; to < std::min(column + kBlock, size); ++to) {
          for (std::size_t from = row; from < std::min(row + kBlock, size); ++from) {
            m_turned[to * size + from] = m_lengths[from * size + to];
          }
        }
      }
    }
    next = cheapestArborescence(static_cast<int>(size), root, m_turned);
  }
  Int128 cost = 0;
  for (int place = 0; place < static_cast<int>(size); ++place) {
    if (place != root) {
      const int from = isIn ? place : next[place];
      const int to = isIn ? next[place] : place;
      (isIn ? tree.inPaths : tree.outPaths).push_back(path(group, network, from, to));
      cost += m_lengths[static_cast<std::size_t>(from) * size + static_cast<std::size_t>(to)];
    }
  }
  return cost;
}

std::vector<TreeRow> Oracle::cheapest(std::span<const int64_t> prices, const Progress& progress) {
  std::vector<Int128> costs;
  costs.reserve(m_preference.size());
  for (std::size_t arc = 0; arc < m_preference.size(); ++arc) {
    const int own = m_classes.ofArc[arc];
    costs.push_back(own < 0 ? kFar : (Int128{prices[own]} << kPreferenceBits) + m_preference[arc]);
  }
  std::vector<TreeRow> rows;
  int pathsOfGroup = -1;
  std::optional<GroupNetwork> network;
  for (std::size_t i = 0; i < m_classes.shares.size(); ++i) {
    throwIfCancelled(progress);
    const Share& share = m_classes.shares[i];
    const ConcurrentGroup& group = m_demand.groups[share.group];
    if (share.group != pathsOfGroup) {
      // Where data flow from one root alone, its paths are enough.
      std::vector<char> wanted(group.ranks.size(), 1);
      if (group.collective == Collective::scatter) {
        std::fill(wanted.begin(), wanted.end(), 0);
        wanted[group.root] = 1;
      } else if (group.collective == Collective::alltoall) {
        std::fill(wanted.begin(), wanted.end(), 0);
        for (const Share& other : m_classes.shares) {
          if (other.group == share.group) {
            wanted[other.roots.front()] = 1;
          }
        }
      }
      network = networkOf(group);
      findPaths(*network, isPathwise(group.collective), costs, wanted);
      pathsOfGroup = share.group;
    }
    std::optional<Int128> least;
    TreeRow row{static_cast<int>(i), {}, std::vector<int64_t>(m_classes.linkCount.size(), 0)};
    for (const int root : share.roots) {
      ConcurrentTree tree{.group = share.group, .root = root};
      Int128 cost = 0;
      if (sendsOut(group.collective)) {
        cost += addTree(group, *network, root, false, tree);
      }
      if (takesIn(group.collective)) {
        cost += addTree(group, *network, root, true, tree);
      }
      if (!least || cost < *least) {
        least = cost;
        row.tree = std::move(tree);
      }
    }
    for (const auto* lists : {&row.tree.outPaths, &row.tree.inPaths}) {
      for (const auto& list : *lists) {
        for (const std::int32_t arc : list) {
          ++row.uses[m_classes.ofArc[arc]];
        }
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace coppice::groups
