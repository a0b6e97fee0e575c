// SPDX-License-Identifier: Apache-2.0
#include "baselines/forests.hpp"

#include <algorithm>
#include <string>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "forestcoll/forestcoll.hpp"
#include "schedule/link_loads.hpp"

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
          return node.box == box && (!needsCapable || schedule::isCapable(node, m_forest.direction));
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

void prune(const fabric::Fabric& fabric, Forest& forest, Meetings meetings) {
  const auto boxOf = [&](Rank rank) -> const std::string& { return fabric.nodes()[fabric.gpus()[rank]].box; };
  forestcoll::pruneInNetwork(fabric, forest, [&](const schedule::TreeEdge& edge) {
    return boxOf(edge.parent) == boxOf(edge.child) ? meetings.inside : meetings.between;
  });
}

namespace {

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
      const auto own = schedule::linkLoads(fabric, **forest, {.ownCopies = ownCopies}, progress);
      std::transform(own.begin(), own.end(), load.begin(), load.begin(), checkedAdd<std::int64_t>);
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
