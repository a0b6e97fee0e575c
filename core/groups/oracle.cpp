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
      m_firstOut(rowStarts(fabric.nodes().size(), fabric.arcs(), &fabric::Arc::tail)) {
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

Oracle::Paths Oracle::pathsOf(const ConcurrentGroup& group, bool passesMembers, const std::vector<Int128>& costs,
                              const std::vector<char>& wanted) const {
  const auto size = group.ranks.size();
  const std::vector<char> usable = usableNodes(m_fabric, m_demand, group);
  std::vector<int> placeOf(usable.size(), -1);
  for (std::size_t place = 0; place < size; ++place) {
    placeOf[m_fabric.gpus()[group.ranks[place]]] = static_cast<int>(place);
  }
  Paths paths{std::vector<Int128>(size * size, kFar), std::vector<std::vector<std::int32_t>>(size)};
  std::vector<Int128> distance(usable.size(), kFar);
  std::vector<fabric::NodeIndex> reached;
  using Item = std::pair<Int128, fabric::NodeIndex>;
  std::priority_queue<Item, std::vector<Item>, std::greater<>> queue;
  for (std::size_t from = 0; from < size; ++from) {
    if (wanted[from] == 0) {
      continue;
    }
    for (const fabric::NodeIndex node : reached) {
      distance[node] = kFar;
    }
    reached.clear();
    paths.arcInto[from].assign(usable.size(), -1);
    const fabric::NodeIndex source = m_fabric.gpus()[group.ranks[from]];
    distance[source] = 0;
    reached.push_back(source);
    queue.emplace(0, source);
    std::size_t open = size;
    while (!queue.empty() && open > 0) {
      const auto [length, node] = queue.top();
      queue.pop();
      if (length != distance[node]) {
        continue;
      }
      if (placeOf[node] >= 0) {
        --open;
        paths.lengths[from * size + static_cast<std::size_t>(placeOf[node])] = length;
        if (node != source && !passesMembers) {
          continue;
        }
      }
      for (std::int32_t arc = m_firstOut[node]; arc < m_firstOut[static_cast<std::size_t>(node) + 1]; ++arc) {
        const fabric::NodeIndex head = m_fabric.arcs()[arc].head;
        const Int128 next = length + costs[arc];
        if (usable[head] != 0 && next < distance[head]) {
          if (distance[head] == kFar) {
            reached.push_back(head);
          }
          distance[head] = next;
          paths.arcInto[from][head] = arc;
          queue.emplace(next, head);
        }
      }
    }
    while (!queue.empty()) {
      queue.pop();
    }
  }
  return paths;
}

void Oracle::refuse(const ConcurrentGroup& group, int from, int to) const {
  const auto id = [&](int place) { return inQuotes(m_fabric.nodes()[m_fabric.gpus()[group.ranks[place]]].id); };
  const auto index = static_cast<std::size_t>(&group - m_demand.groups.data());
  throw Failure{{ErrorCode::infeasible,
                 "group " + std::to_string(index) + " has no path from " + id(from) + " to " + id(to) +
                     " over its own GPUs and relays",
                 "let GPUs of other groups pass its data on, or form other groups"}};
}

std::vector<std::int32_t> Oracle::path(const ConcurrentGroup& group, const Paths& paths, int from, int to) const {
  std::vector<std::int32_t> arcs;
  const fabric::NodeIndex source = m_fabric.gpus()[group.ranks[from]];
  for (fabric::NodeIndex node = m_fabric.gpus()[group.ranks[to]]; node != source;) {
    const std::int32_t arc = paths.arcInto[from][node];
    if (arc < 0) {
      refuse(group, from, to);
    }
    arcs.push_back(arc);
    node = m_fabric.arcs()[arc].tail;
  }
  std::reverse(arcs.begin(), arcs.end());
  return arcs;
}

/// Adds the cheapest in-tree or out-tree of the root, and returns its cost.
Int128 Oracle::addTree(const ConcurrentGroup& group, int root, const Paths& paths, bool isIn,
                       ConcurrentTree& tree) const {
  const int size = static_cast<int>(group.ranks.size());
  const auto at = [&](int from, int to) {
    return static_cast<std::size_t>(from) * size + static_cast<std::size_t>(to);
  };
  std::vector<int> next(static_cast<std::size_t>(size), root);
  if (!isPathwise(group.collective)) {
    if (isIn) {
      std::vector<Int128> turned(paths.lengths.size());
      for (int from = 0; from < size; ++from) {
        for (int to = 0; to < size; ++to) {
          turned[at(to, from)] = paths.lengths[at(from, to)];
        }
      }
      next = cheapestArborescence(size, root, turned);
    } else {
      next = cheapestArborescence(size, root, paths.lengths);
    }
  }
  Int128 cost = 0;
  for (int place = 0; place < size; ++place) {
    if (place != root) {
      const int from = isIn ? place : next[place];
      const int to = isIn ? next[place] : place;
      (isIn ? tree.inPaths : tree.outPaths).push_back(path(group, paths, from, to));
      cost += paths.lengths[at(from, to)];
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
  Paths paths;
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
      paths = pathsOf(group, isPathwise(group.collective), costs, wanted);
      pathsOfGroup = share.group;
    }
    std::optional<Int128> least;
    TreeRow row{static_cast<int>(i), {}, std::vector<int64_t>(m_classes.linkCount.size(), 0)};
    for (const int root : share.roots) {
      ConcurrentTree tree{.group = share.group, .root = root};
      Int128 cost = 0;
      if (sendsOut(group.collective)) {
        cost += addTree(group, root, paths, false, tree);
      }
      if (takesIn(group.collective)) {
        cost += addTree(group, root, paths, true, tree);
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
