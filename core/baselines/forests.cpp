// SPDX-License-Identifier: Apache-2.0
#include "baselines/forests.hpp"

#include <algorithm>
#include <string>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "forestcoll/forestcoll.hpp"
#include "schedule/own_copies.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::baselines {

using fabric::NodeIndex;
using fabric::Rank;
using schedule::Direction;
using schedule::Forest;
using schedule::PathId;

TreeRoutes::TreeRoutes(const fabric::Fabric& fabric, Direction direction)
    : m_fabric(fabric),
      m_isOut(direction == Direction::out),
      m_next(numbersByRow(fabric.nodeCount(), fabric.arcs(), m_isOut ? &fabric::Arc::tail : &fabric::Arc::head)),
      m_back(numbersByRow(fabric.nodeCount(), fabric.arcs(), m_isOut ? &fabric::Arc::head : &fabric::Arc::tail)),
      m_use(fabric.arcs().size(), 0) {}

void TreeRoutes::startAt(Rank root, const std::function<bool(const fabric::Node&)>& isRelay) {
  m_root = m_fabric.gpus()[root];
  m_hops.assign(m_fabric.nodeCount(), -1);
  m_taken.assign(m_fabric.nodeCount(), -1);
  m_hops[m_root] = 0;
  const auto nodes = m_fabric.nodes();
  std::vector<NodeIndex> queue{m_root};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const NodeIndex node = queue[head];
    if (node != m_root && nodes[node].kind == fabric::NodeKind::gpu) {
      continue;  // GPUs do not relay
    }
    for (const std::int32_t arc : m_next[node]) {
      const NodeIndex next = m_isOut ? m_fabric.arcs()[arc].head : m_fabric.arcs()[arc].tail;
      if (m_hops[next] < 0 && (nodes[next].kind == fabric::NodeKind::gpu || isRelay(nodes[next]))) {
        m_hops[next] = m_hops[node] + 1;
        queue.push_back(next);
      }
    }
  }
}

std::vector<NodeIndex> TreeRoutes::to(Rank gpu) {
  NodeIndex node = m_fabric.gpus()[gpu];
  if (m_hops[node] < 0) {
    return {};
  }
  const auto arcs = m_fabric.arcs();
  const auto towardsRoot = [&](std::int32_t arc) { return m_isOut ? arcs[arc].tail : arcs[arc].head; };
  std::vector<NodeIndex> route{node};
  while (node != m_root) {
    std::int32_t& best = m_taken[node];
    if (best < 0) {
      for (const std::int32_t arc : m_back[node]) {
        const NodeIndex nearer = towardsRoot(arc);
        const bool mayPass = nearer == m_root || m_fabric.nodes()[nearer].kind != fabric::NodeKind::gpu;
        if (mayPass && m_hops[nearer] == m_hops[node] - 1 &&
            (best < 0 || Rational(m_use[arc] + 1) * arcs[best].bandwidth.gigabytesPerSecond() <
                             Rational(m_use[best] + 1) * arcs[arc].bandwidth.gigabytesPerSecond())) {
          best = arc;
        }
      }
      ++m_use[best];
    }
    node = towardsRoot(best);
    route.push_back(node);
  }
  if (m_isOut) {
    std::reverse(route.begin(), route.end());
  }
  return route;
}

ForestBuilder::ForestBuilder(const fabric::Fabric& fabric, Direction direction)
    : m_fabric(fabric), m_between(fabric, direction), m_insideBoxes(fabric, direction), m_inside(fabric.gpuCount()) {
  m_forest.direction = direction;
  m_forest.gpuCount = fabric.gpuCount();
  m_forest.treesOfRoot.assign(fabric.gpuCount(), 0);
}

void ForestBuilder::startTree(Rank root) {
  ++m_forest.treesOfRoot[root];
  m_forest.trees.push_back({root, 1, static_cast<std::int64_t>(m_forest.edges.size())});
  m_startedAt = -1;
}

void ForestBuilder::addEdge(Rank parent, Rank child) {
  const auto nodes = m_fabric.nodes();
  const auto nodeOf = [&](Rank rank) -> const fabric::Node& { return nodes[m_fabric.gpus()[rank]]; };
  const std::string& box = nodeOf(parent).box;
  if (nodeOf(child).box == box) {
    std::vector<PathId>& inside = m_inside[parent];
    if (inside.empty()) {
      // All from this parent at once, so that they share their links.
      inside.assign(m_fabric.gpuCount(), schedule::kNoRoute);
      for (const bool needsCapable : {true, false}) {
        m_insideBoxes.startAt(parent, [&](const fabric::Node& node) {
          return node.box == box && (!needsCapable || isCapable(node, m_forest.direction));
        });
        for (Rank other = 0; other < m_fabric.gpuCount(); ++other) {
          if (other != parent && inside[other] == schedule::kNoRoute && nodeOf(other).box == box) {
            const auto route = m_insideBoxes.to(other);
            inside[other] = route.empty() ? schedule::kNoRoute : m_forest.paths.add(route);
          }
        }
      }
    }
    if (inside[child] != schedule::kNoRoute) {
      m_forest.edges.push_back({parent, child, inside[child]});
      return;
    }
  }
  if (m_startedAt != parent) {
    m_between.startAt(parent, [](const fabric::Node&) { return true; });
    m_startedAt = parent;
  }
  const auto route = m_between.to(child);
  if (route.empty()) {
    throw Failure{Error{ErrorCode::infeasible,
                        "Only other GPUs join " + inQuotes(nodeOf(parent).id) + " and " + inQuotes(nodeOf(child).id) +
                            "; this baseline needs switches between them",
                        "choose multitree or blink"}};
  }
  m_forest.edges.push_back({parent, child, m_forest.paths.add(route)});
}

bool isCapable(const fabric::Node& node, Direction direction) {
  return node.kind != fabric::NodeKind::gpu && (direction == Direction::out ? node.multicast : node.aggregation);
}

void prune(const fabric::Fabric& fabric, Forest& forest, Meetings meetings) {
  const bool isOut = forest.direction == Direction::out;
  const auto nodes = fabric.nodes();
  const auto mayMeetAt = [&](NodeIndex node) { return isCapable(nodes[node], forest.direction); };
  const auto boxOf = [&](Rank rank) -> const std::string& { return nodes[fabric.gpus()[rank]].box; };
  // Parents come first, so that what an edge meets never depends on the edge itself.
  std::vector<std::int64_t> treeAt(fabric.nodeCount(), -1);
  for (const schedule::Tree& tree : forest.trees) {
    for (std::int64_t e = tree.firstEdge; e < tree.firstEdge + forest.gpuCount - 1; ++e) {
      schedule::TreeEdge& edge = forest.edges[e];
      if (boxOf(edge.parent) == boxOf(edge.child) ? !meetings.inside : !meetings.between) {
        continue;
      }
      const auto path = forest.paths[edge.path];
      const auto size = static_cast<int>(path.size());
      const auto node = [&](int i) { return path[isOut ? i : size - 1 - i]; };
      for (int i = size - 2; i > 0 && edge.pruned == 0; --i) {
        edge.pruned = mayMeetAt(node(i)) && treeAt[node(i)] == tree.firstEdge ? i : 0;
      }
      for (int i = edge.pruned; i < size - 1; ++i) {
        if (mayMeetAt(node(i))) {
          treeAt[node(i)] = tree.firstEdge;
        }
      }
    }
  }
}

namespace {

/// Adds the trees that each link carries.
void addLoads(const fabric::Fabric& fabric, const Forest& forest, bool ownCopies, std::vector<std::int64_t>& load,
              const Progress& progress) {
  const bool isOut = forest.direction == Direction::out;
  schedule::TreeReader reader(forest);
  for (std::int64_t t = 0; t < reader.size(); ++t) {
    throwIfCancelled(progress);
    const auto tree = reader.read(t);
    for (const schedule::TreeEdge& edge : tree.edges) {
      const auto path = reader.path(edge);
      const auto links = static_cast<int>(path.size()) - 1;
      for (int link = isOut ? edge.pruned : 0; link < (isOut ? links : links - edge.pruned); ++link) {
        std::int64_t& sum = load[*fabric.findArc(path[link], path[link + 1])];
        sum = checkedAdd(sum, tree.multiplicity);
      }
    }
    if (ownCopies) {
      for (const int arc : schedule::ownCopies(fabric, forest.direction, reader, tree)) {
        load[arc] = checkedAdd(load[arc], tree.multiplicity);
      }
    }
  }
}

/// Trees per GB/s of the busiest link.
InverseBandwidth busiest(const fabric::Fabric& fabric, const std::vector<std::int64_t>& load) {
  InverseBandwidth max;
  for (std::size_t arc = 0; arc < load.size(); ++arc) {
    max = std::max(max, Rational(load[arc]) / fabric.arcs()[arc].bandwidth);
  }
  return max;
}

}  // namespace

schedule::Schedule scheduleOf(const fabric::Fabric& fabric, const Request& request, std::optional<Forest> reduce,
                              std::optional<Forest> broadcast, bool ownCopies, const Progress& progress) {
  schedule::Schedule schedule;
  schedule.collective = request.collective;
  schedule.fabricName = fabric.name();
  schedule.fabricDigest = fabric.digest();
  schedule.root = request.root;
  schedule.ownCopies = ownCopies;
  schedule.overlapped = reduce && broadcast;
  std::vector<std::int64_t> load(fabric.arcs().size(), 0);
  for (const auto* forest : {&reduce, &broadcast}) {
    if (*forest) {
      addLoads(fabric, **forest, ownCopies, load, progress);
    }
  }
  for (auto* forest : {&reduce, &broadcast}) {
    if (*forest) {
      (*forest)->scale = busiest(fabric, load);
      schedule.algbw = (*forest)->algbw();
    }
  }
  schedule.reduceForest = std::move(reduce);
  schedule.broadcastForest = std::move(broadcast);
  if (!schedule.overlapped) {
    forestcoll::Request optimal;
    optimal.collective = request.collective;
    optimal.root = request.root;
    const auto optimum = orThrow(forestcoll::optimum(fabric, optimal, progress));
    schedule.bound = optimum.algbw;
    schedule.bottlenecks = optimum.bottlenecks;
    schedule.fixedK = 1;
  }
  return schedule;
}

}  // namespace coppice::baselines
