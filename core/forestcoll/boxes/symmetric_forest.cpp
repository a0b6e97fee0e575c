// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/boxes/symmetric_forest.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "forestcoll/boxes/two_level_shape.hpp"
#include "forestcoll/breadth_first.hpp"
#include "schedule/rotation.hpp"
#include "schedule/route_index.hpp"

namespace coppice::forestcoll {
namespace {

using schedule::Forest;
using std::int64_t;

/// What is left of every orbit of arcs.
class OrbitRoom {
public:
  OrbitRoom(const fabric::Fabric& fabric, const std::vector<schedule::Rotation>& rotations,
            const std::vector<TreeArc>& capacities)
      : m_orbitOf(capacities.size()) {
    std::iota(m_orbitOf.begin(), m_orbitOf.end(), 0);
    for (const schedule::Rotation& rotation : rotations) {
      const std::vector<std::int32_t> next = schedule::rotatedArcs(fabric, rotation);
      for (std::size_t arc = 0; arc < next.size(); ++arc) {
        const int a = find(static_cast<int>(arc));
        const int b = find(next[arc]);
        m_orbitOf[std::max(a, b)] = std::min(a, b);
      }
    }
    std::vector<int64_t> size(capacities.size(), 0);
    m_room.assign(capacities.size(), std::numeric_limits<int64_t>::max());
    for (std::size_t arc = 0; arc < capacities.size(); ++arc) {
      m_orbitOf[arc] = find(static_cast<int>(arc));
      ++size[m_orbitOf[arc]];
      int64_t& room = m_room[m_orbitOf[arc]];
      room = std::min(room, capacities[arc].capacity);
    }
    for (std::size_t orbit = 0; orbit < m_room.size(); ++orbit) {
      m_room[orbit] =
          size[orbit] > 0 ? static_cast<int64_t>(Int128{m_room[orbit]} * size[orbit] / fabric.gpuCount()) : 0;
    }
  }

  [[nodiscard]] int64_t left(int arc) const { return m_room[m_orbitOf[arc]]; }
  void take(int arc) { --m_room[m_orbitOf[arc]]; }

private:
  int find(int arc) {
    while (m_orbitOf[arc] != arc) {
      arc = m_orbitOf[arc] = m_orbitOf[m_orbitOf[arc]];
    }
    return arc;
  }

  std::vector<int> m_orbitOf;
  std::vector<int64_t> m_room;  ///< by orbit, named by its lowest arc
};

/// The network's arcs by their ends.
struct Graph {
  Graph(const Network& fromNetwork, const std::vector<TreeArc>& capacities, const std::vector<char>& isInner)
      : network(fromNetwork),
        arcs(capacities),
        isInnerArc(isInner),
        out(static_cast<std::size_t>(network.nodeCount)),
        in(out.size()) {
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      if (arcs[i].capacity > 0) {
        out[arcs[i].tail].push_back(static_cast<int>(i));
        in[arcs[i].head].push_back(static_cast<int>(i));
      }
    }
  }

  const Network& network;
  const std::vector<TreeArc>& arcs;
  const std::vector<char>& isInnerArc;  ///< by arc: inside a box
  std::vector<std::vector<int>> out;    ///< by node: arcs with room
  std::vector<std::vector<int>> in;
};

/// Shortest routes from one GPU to others over switches, inside its box or outside of all boxes.
class ShortestRoutes {
public:
  ShortestRoutes(const Graph& graph, int source, bool isInner, int maxHops = std::numeric_limits<int>::max())
      : m_graph(graph), m_source(source), m_isInner(isInner ? 1 : 0) {
    m_hops.emplace(source, 0);
    std::vector<int> queue{source};
    // NOLINTNEXTLINE(modernize-loop-convert): the queue grows under the loop
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const int node = queue[i];
      const int next = m_hops.at(node) + 1;
      if (next > maxHops || (node != source && graph.network.isGpu[node] != 0)) {
        continue;
      }
      for (const int arc : graph.out[node]) {
        const int head = graph.arcs[arc].head;
        if (graph.isInnerArc[arc] == m_isInner && m_hops.emplace(head, next).second) {
          queue.push_back(head);
        }
      }
    }
  }

  /// Links to the node, or a number above all others where there is no route.
  [[nodiscard]] int hops(int node) const {
    const auto found = m_hops.find(node);
    return found == m_hops.end() ? std::numeric_limits<int>::max() : found->second;
  }

  /// The nodes of a route to a GPU, whose arcs are taken off the room. False where no route has room.
  bool take(int target, OrbitRoom& room, std::vector<int>& route) {
    route.assign(1, target);
    for (int node = target; node != m_source;) {
      int best = -1;
      for (const int arc : before(node)) {
        if (room.left(arc) > 0 && (best < 0 || room.left(arc) > room.left(best))) {
          best = arc;
        }
      }
      if (best < 0) {
        return false;
      }
      room.take(best);
      node = m_graph.arcs[best].tail;
      route.push_back(node);
    }
    std::reverse(route.begin(), route.end());
    return true;
  }

private:
  /// Arcs into the node on shortest routes.
  const std::vector<int>& before(int node) {
    const auto [found, isNew] = m_before.try_emplace(node);
    if (isNew && hops(node) < std::numeric_limits<int>::max()) {
      for (const int arc : m_graph.in[node]) {
        const int tail = m_graph.arcs[arc].tail;
        if (m_graph.isInnerArc[arc] == m_isInner && hops(tail) == hops(node) - 1 &&
            (tail == m_source || m_graph.network.isGpu[tail] == 0)) {
          found->second.push_back(arc);
        }
      }
    }
    return found->second;
  }

  const Graph& m_graph;
  int m_source;
  char m_isInner;
  std::unordered_map<int, int> m_hops;
  std::unordered_map<int, std::vector<int>> m_before;
};

/// The trees of rank 0.
class RootTrees {
public:
  RootTrees(const Graph& graph, const TwoLevelShape& shape, OrbitRoom room, int64_t trees, const Progress& progress)
      : m_graph(graph),
        m_shape(shape),
        m_progress(progress),
        m_room(std::move(room)),
        m_treeCount(trees),
        m_gpuCount(static_cast<int>(graph.network.gpus.size())),
        m_own(shape.boxOf.front()),
        m_outer(graph, graph.network.gpus.front(), false) {}

  std::optional<Forest> run() {
    const auto size = static_cast<int64_t>(box(m_own).size());
    for (const std::vector<int>& gpus : m_shape.boxes) {
      if (static_cast<int64_t>(gpus.size()) != size) {
        return std::nullopt;
      }
    }
    const int64_t others = static_cast<int64_t>(m_shape.boxes.size()) - 1;
    const int64_t pairs = checkedMul(m_treeCount, others);
    const int64_t inner = std::min(m_shape.innerIn.front(), m_shape.innerOut.front());
    const int64_t outer = std::min(m_shape.outerIn.front(), m_shape.outerOut.front());
    const int64_t entries =
        std::max(pairs, checkedAdd(checkedMul(pairs, size), checkedMul(m_treeCount, size - 1)) - inner);
    if (entries > outer || entries > pairs * size) {
      return std::nullopt;
    }
    findSenders();
    for (int64_t tree = 0; tree < m_treeCount; ++tree) {
      throwIfCancelled(m_progress);
      m_edges.clear();
      if (!growOwnBox()) {
        return std::nullopt;
      }
      int64_t pair = tree * others;
      for (int target = 0; target < static_cast<int>(m_shape.boxes.size()); ++target) {
        if (target == m_own) {
          continue;
        }
        const auto upTo = [&](int64_t count) { return static_cast<int64_t>(Int128{entries} * count / pairs); };
        if (!growInto(target, upTo(pair + 1) - upTo(pair))) {
          return std::nullopt;
        }
        ++pair;
      }
      m_forest.trees.push_back({0, 1, static_cast<int64_t>(m_forest.edges.size())});
      BreadthFirst(m_gpuCount).append(0, m_edges, m_forest.edges);
    }
    m_forest.gpuCount = m_gpuCount;
    m_forest.paths = m_routes.takePaths();
    return std::move(m_forest);
  }

private:
  [[nodiscard]] const std::vector<int>& box(int number) const { return m_shape.boxes[number]; }
  [[nodiscard]] int node(int rank) const { return m_graph.network.gpus[rank]; }

  /// For each GPU elsewhere who serves it as an entry, and how far off that one is.
  void findSenders() {
    m_senderOf.assign(m_gpuCount, 0);
    m_hopsTo.resize(m_gpuCount);
    int farthest = 0;
    bool isUneven = false;
    for (int rank = 0; rank < m_gpuCount; ++rank) {
      if (m_shape.boxOf[rank] != m_own) {
        m_hopsTo[rank] = m_outer.hops(node(rank));
        farthest = std::max(farthest, m_hopsTo[rank]);
        isUneven = isUneven || m_hopsTo[rank] != m_outer.hops(node(box(m_shape.boxOf[rank]).front()));
      }
    }
    if (!isUneven) {
      return;
    }
    m_maxHops = farthest - 1;  // GPUs that are not nearer than the root are excluded
    for (const int sender : box(m_own)) {
      if (sender == 0) {
        continue;
      }
      throwIfCancelled(m_progress);
      const ShortestRoutes routes(m_graph, node(sender), false, m_maxHops);
      for (int rank = 0; rank < m_gpuCount; ++rank) {
        if (m_shape.boxOf[rank] != m_own && routes.hops(node(rank)) < m_hopsTo[rank]) {
          m_hopsTo[rank] = routes.hops(node(rank));
          m_senderOf[rank] = sender;
        }
      }
    }
  }

  bool growOwnBox() {
    if (box(m_own).size() == 1) {
      return true;
    }
    ShortestRoutes& routes = innerRoutes(0);
    return std::all_of(box(m_own).begin(), box(m_own).end(),
                       [&](int rank) { return rank == 0 || addEdge(routes, 0, rank); });
  }

  bool growInto(int target, int64_t count) {
    std::vector<int> order = box(target);
    // The root's own entries come first: they make the tree lower.
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return std::pair(m_hopsTo[a], m_senderOf[a] != 0) < std::pair(m_hopsTo[b], m_senderOf[b] != 0);
    });
    for (int64_t i = 0; i < count; ++i) {
      const int sender = m_senderOf[order[i]];
      if (!addEdge(outerRoutes(sender), sender, order[i])) {
        return false;
      }
    }
    const auto behind = static_cast<int64_t>(order.size()) - count;
    for (int64_t i = 0; i < count && behind > 0; ++i) {
      ShortestRoutes& routes = innerRoutes(order[i]);
      for (int64_t child = behind * i / count; child < behind * (i + 1) / count; ++child) {
        if (!addEdge(routes, order[i], order[count + child])) {
          return false;
        }
      }
    }
    return true;
  }

  /// ShortestRoutes inside its box, of any GPU.
  ShortestRoutes& innerRoutes(int rank) {
    return m_innerRoutes.try_emplace(rank, m_graph, node(rank), true).first->second;
  }

  /// ShortestRoutes to other boxes, of a GPU of the root's box.
  ShortestRoutes& outerRoutes(int rank) {
    return rank == 0 ? m_outer : m_outerRoutes.try_emplace(rank, m_graph, node(rank), false, m_maxHops).first->second;
  }

  bool addEdge(ShortestRoutes& routes, int parent, int child) {
    if (!routes.take(node(child), m_room, m_route)) {
      return false;
    }
    m_edges.push_back({parent, child, m_routes.idOf(m_route), 0});
    return true;
  }

  const Graph& m_graph;
  const TwoLevelShape& m_shape;
  const Progress& m_progress;
  OrbitRoom m_room;
  int64_t m_treeCount;
  int m_gpuCount;
  int m_own;  ///< the box of rank 0
  ShortestRoutes m_outer;
  std::vector<int> m_senderOf;                      ///< by rank
  std::vector<int> m_hopsTo;                        ///< by rank: from its sender
  int m_maxHops = std::numeric_limits<int>::max();  ///< of routes from other GPUs than the root
  std::unordered_map<int, ShortestRoutes> m_outerRoutes;
  std::unordered_map<int, ShortestRoutes> m_innerRoutes;
  schedule::RouteIndex m_routes;
  std::vector<schedule::TreeEdge> m_edges;  ///< of the tree
  std::vector<int> m_route;
  Forest m_forest;
};

}  // namespace

std::optional<Forest> growSymmetricForest(const fabric::Fabric& fabric, const Network& network,
                                          const std::vector<TreeArc>& capacities, const std::vector<int64_t>& supply,
                                          const Progress& progress) {
  constexpr int64_t kMaxEdges = int64_t{1} << 26;  // of the trees of one root
  const auto gpuCount = static_cast<int64_t>(network.gpus.size());
  const int64_t trees = supply[network.gpus.front()];
  const bool isUniform =
      std::all_of(network.gpus.begin(), network.gpus.end(), [&](int gpu) { return supply[gpu] == trees; });
  if (!isUniform || trees < 1 || trees > kMaxEdges / gpuCount) {
    return std::nullopt;
  }
  const std::vector<TwoLevelShape> shapes = twoLevelShapes(network, capacities);
  if (shapes.empty()) {
    return std::nullopt;
  }
  progress.report("packing", 0);
  std::vector<schedule::Rotation> rotations = schedule::rotationsOf(fabric);
  throwIfCancelled(progress);
  if (rotations.empty()) {
    return std::nullopt;
  }
  const OrbitRoom room(fabric, rotations, capacities);
  for (const TwoLevelShape& shape : shapes) {
    const Graph graph(network, capacities, shape.isInnerArc);
    if (auto forest = RootTrees(graph, shape, room, trees, progress).run()) {
      forest->rotations = std::move(rotations);
      return forest;
    }
  }
  return std::nullopt;
}

}  // namespace coppice::forestcoll
