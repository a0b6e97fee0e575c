// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <optional>

#include "base/checked.hpp"
#include "schedule/arc_finder.hpp"
#include "schedule/factored_layout.hpp"
#include "schedule/forest.hpp"
#include "schedule/rotation.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::schedule {
namespace {

using fabric::NodeIndex;
using fabric::NodeKind;

/// Tables over the parts of a factored forest have at most this many entries of 16 bytes; above it trees are expanded.
constexpr std::int64_t kMaxTableEntries = std::int64_t{1} << 24;

/// What lies between two GPUs.
struct Distance {
  std::int32_t hops = 0;
  std::int32_t links = 0;
  std::int64_t picoseconds = 0;  ///< the largest int64 where it would leave that

  friend Distance operator+(const Distance& a, const Distance& b) {
    Distance sum{a.hops + b.hops, a.links + b.links, 0};
    if (__builtin_add_overflow(a.picoseconds, b.picoseconds, &sum.picoseconds)) {
      sum.picoseconds = std::numeric_limits<std::int64_t>::max();
    }
    return sum;
  }
  /// The largest of each, which may be of different leaves.
  void raise(const Distance& other) {
    hops = std::max(hops, other.hops);
    links = std::max(links, other.links);
    picoseconds = std::max(picoseconds, other.picoseconds);
  }
};

/// Latencies of the links between nodes; all 0 without a fabric.
class LinkLatencies {
public:
  LinkLatencies(const fabric::Fabric* fabric, Direction direction) {
    if (fabric != nullptr) {
      m_gpus = fabric->gpus();
      m_arcs.emplace(*fabric, direction);
      for (const fabric::Arc& arc : fabric->arcs()) {
        m_latency.push_back(latencyPicoseconds(*fabric, arc));
      }
    }
  }

  [[nodiscard]] bool areKnown() const { return m_arcs.has_value(); }
  /// As the tree runs, from parent to child.
  [[nodiscard]] std::int64_t between(NodeIndex from, NodeIndex to) const {
    const std::int32_t arc = m_arcs->find(from, to);
    return arc == kNoArc ? 0 : m_latency[arc];
  }
  [[nodiscard]] NodeIndex gpu(fabric::Rank rank) const { return m_gpus[rank]; }

private:
  std::span<const NodeIndex> m_gpus;
  std::optional<ArcFinder> m_arcs;
  std::vector<std::int64_t> m_latency;  ///< by arc
};

/// Distances along edges of either form.
class EdgeDistances {
public:
  EdgeDistances(const Forest& forest, const TreeReader& reader, const LinkLatencies& latencies)
      : m_latencies(latencies), m_isWhole(!forest.factored), m_pieces(static_cast<std::size_t>(reader.pieceCount())) {
    const bool isOut = forest.direction == Direction::out;
    for (PathId id = 0; id < reader.pieceCount(); ++id) {
      // The whole route where trees are written out, in the direction of the data; else the relays of a piece, in that
      // of an out-tree's.
      const auto nodes = m_isWhole ? forest.paths[id] : reader.relays(id);
      Piece& piece = m_pieces[id];
      piece.nodes = static_cast<std::int32_t>(nodes.size());
      if (!nodes.empty() && latencies.areKnown()) {
        piece.first = nodes.front();
        piece.last = nodes.back();
        for (std::size_t i = 1; i < nodes.size(); ++i) {
          const bool isForward = isOut || !m_isWhole;
          piece.picoseconds =
              (Distance{0, 0, piece.picoseconds} +
               Distance{0, 0, latencies.between(nodes[isForward ? i - 1 : i], nodes[isForward ? i : i - 1])})
                  .picoseconds;
        }
      }
    }
  }

  [[nodiscard]] Distance of(const TreeReader::Edge& edge) const {
    if (m_isWhole) {
      const Piece& piece = m_pieces[edge.between];
      return {1, piece.nodes - 1, piece.picoseconds};
    }
    Distance distance{1, 1, 0};
    NodeIndex node = m_latencies.areKnown() ? m_latencies.gpu(edge.parent) : 0;
    for (const PathId id : {edge.out, edge.between, edge.in}) {
      const Piece& piece = m_pieces[id];
      distance.links += piece.nodes;
      if (piece.nodes > 0 && m_latencies.areKnown()) {
        distance = distance + Distance{0, 0, m_latencies.between(node, piece.first)};
        distance = distance + Distance{0, 0, piece.picoseconds};
        node = piece.last;
      }
    }
    if (m_latencies.areKnown()) {
      distance = distance + Distance{0, 0, m_latencies.between(node, m_latencies.gpu(edge.child))};
    }
    return distance;
  }

private:
  struct Piece {
    std::int32_t nodes = 0;
    NodeIndex first = 0;
    NodeIndex last = 0;
    std::int64_t picoseconds = 0;
  };

  const LinkLatencies& m_latencies;
  bool m_isWhole;
  std::vector<Piece> m_pieces;
};

/// Collects the trees' heights.
class Summary {
public:
  void add(const Distance& height, std::int64_t multiplicity) {
    const auto weight = static_cast<double>(multiplicity);
    m_max.raise(height);
    m_hops += weight * height.hops;
    m_links += weight * height.links;
    m_picoseconds += weight * static_cast<double>(height.picoseconds);
    m_weight += weight;
  }
  [[nodiscard]] Heights result() const {
    constexpr double kPicoseconds = 1e6;
    const double weight = m_weight > 0 ? m_weight : 1;
    return {m_max.hops,
            m_hops / weight,
            m_max.links,
            m_links / weight,
            Microseconds(static_cast<double>(m_max.picoseconds) / kPicoseconds),
            Microseconds(m_picoseconds / weight / kPicoseconds)};
  }

private:
  Distance m_max;
  double m_hops = 0;
  double m_links = 0;
  double m_picoseconds = 0;
  double m_weight = 0;
};

/// Heights of a factored forest part by part: the distance of every leaf from the root in every tree of every part,
/// small parts first, then of the whole trees from these.
class PartHeights {
public:
  PartHeights(const FactoredLayout& layout, const EdgeDistances& distances, const Progress& progress)
      : m_layout(layout),
        m_forest(layout.forest()),
        m_distances(distances),
        m_progress(progress),
        m_tables(m_forest.instances.size()) {}

  [[nodiscard]] static bool isWorthwhile(const FactoredLayout& layout) {
    Int128 entries = 0;
    for (std::size_t i = 0; i < layout.forest().instances.size(); ++i) {
      const int shape = layout.forest().instances[i].shape;
      if (static_cast<int>(i) != layout.forest().top) {
        entries += Int128{static_cast<std::int64_t>(layout.forest().shapes[shape].trees.size())} *
                   layout.part(shape).leafCount;
      }
    }
    return entries <= kMaxTableEntries;
  }

  Heights run() {
    Summary summary;
    for (int instance = 0; instance < static_cast<int>(m_forest.instances.size()); ++instance) {
      const bool isTop = instance == m_forest.top;
      const FactoredForest::Shape& shape = m_forest.shapes[m_forest.instances[instance].shape];
      m_base.resize(shape.childShape.size());
      m_inner.resize(shape.childShape.size());
      Table& table = m_tables[instance];
      for (std::size_t tree = 0; tree < shape.trees.size(); ++tree) {
        throwIfCancelled(m_progress);
        const Distance height = walk(instance, shape, shape.trees[tree], isTop ? nullptr : &table);
        if (isTop) {
          summary.add(height, shape.trees[tree].multiplicity);
        } else {
          table.height.push_back(height);
        }
      }
    }
    return summary.result();
  }

private:
  struct Table {
    std::vector<Distance> leaf;    ///< by tree, then leaf
    std::vector<Distance> height;  ///< by tree
  };

  Distance walk(int instance, const FactoredForest::Shape& shape, const FactoredForest::PartTree& tree, Table* table) {
    const FactoredForest::Instance& here = m_forest.instances[instance];
    const FactoredLayout::Part& part = m_layout.part(here.shape);
    const FactoredLayout::Place& place = m_layout.place(instance);
    const FactoredForest::Skeleton& skeleton = shape.skeletons[tree.skeleton];
    const FactoredForest::Choice* choice = shape.choices.data() + shape.patterns[tree.pattern].firstChoice;
    m_base[skeleton.root] = {};
    m_inner[skeleton.root] = choice->innerTree;
    std::int64_t left = choice->count - 1;
    const FactoredForest::Arc* const firstArc = shape.arcs.data() + skeleton.firstArc;
    const FactoredForest::Arc* const lastArc = firstArc + (shape.childShape.size() - 1);
    for (const FactoredForest::Arc* arc = firstArc; arc != lastArc; ++arc, --left) {
      if (left == 0) {
        left = (++choice)->count;
      }
      TreeReader::Edge edge{0, 0, place.viaBase, place.viaBase + 1 + choice->via, place.viaBase, 0};
      Distance distance = m_base[arc->tail];
      int tailLeaf = part.leafStart[arc->tail];
      int headLeaf = part.leafStart[arc->head];
      if (const int child = shape.childShape[arc->tail]; child != FactoredForest::kGpu) {
        const FactoredForest::Port& port = m_forest.shapes[child].outPorts[choice->tailPort];
        tailLeaf += port.leaf;
        edge.out = place.viaBase + part.viaStart[arc->tail] + 1 + port.via;
        distance = distance + leafDistance(here.children[arc->tail], child, m_inner[arc->tail], port.leaf);
      }
      if (const int child = shape.childShape[arc->head]; child != FactoredForest::kGpu) {
        const FactoredForest::Port& port = m_forest.shapes[child].inPorts[choice->headPort];
        headLeaf += port.leaf;
        edge.in = place.viaBase + part.viaStart[arc->head] + 1 + port.via;
      }
      edge.parent = m_layout.rankOf(place.leafBase + tailLeaf);
      edge.child = m_layout.rankOf(place.leafBase + headLeaf);
      m_base[arc->head] = distance + m_distances.of(edge);
      m_inner[arc->head] = choice->innerTree;
    }
    Distance height;
    for (std::size_t node = 0; node < shape.childShape.size(); ++node) {
      const int child = shape.childShape[node];
      if (child == FactoredForest::kGpu) {
        height.raise(m_base[node]);
        if (table != nullptr) {
          table->leaf.push_back(m_base[node]);
        }
        continue;
      }
      height.raise(m_base[node] + m_tables[here.children[node]].height[m_inner[node]]);
      for (int leaf = 0; table != nullptr && leaf < m_layout.part(child).leafCount; ++leaf) {
        table->leaf.push_back(m_base[node] + leafDistance(here.children[node], child, m_inner[node], leaf));
      }
    }
    return height;
  }

  [[nodiscard]] const Distance& leafDistance(int instance, int shape, int tree, int leaf) const {
    return m_tables[instance].leaf[std::int64_t{tree} * m_layout.part(shape).leafCount + leaf];
  }

  const FactoredLayout& m_layout;
  const FactoredForest& m_forest;
  const EdgeDistances& m_distances;
  const Progress& m_progress;
  std::vector<Table> m_tables;   ///< by instance
  std::vector<Distance> m_base;  ///< by node: of where its part is entered
  std::vector<int> m_inner;      ///< by node: the tree that continues there
};

/// Tree by tree, node by node: for images whose links have other latencies than those of the trees themselves.
Heights measureRoutes(TreeReader& reader, const LinkLatencies& latencies, Direction direction,
                      const Progress& progress) {
  Summary summary;
  std::vector<Distance> distanceOf;
  for (std::int64_t tree = 0; tree < reader.size(); ++tree) {
    throwIfCancelled(progress);
    const TreeReader::View view = reader.read(tree);
    distanceOf.resize(view.edges.size() + 1);
    distanceOf[view.root] = {};
    Distance height;
    for (const TreeReader::Edge& edge : view.edges) {
      const auto path = reader.path(edge);
      Distance distance{1, static_cast<std::int32_t>(path.size()) - 1, 0};
      for (std::size_t i = 0; i + 1 < path.size(); ++i) {
        const bool isOut = direction == Direction::out;
        distance = distance + Distance{0, 0, latencies.between(path[isOut ? i : i + 1], path[isOut ? i + 1 : i])};
      }
      distanceOf[edge.child] = distanceOf[edge.parent] + distance;
      height.raise(distanceOf[edge.child]);
    }
    summary.add(height, view.multiplicity);
  }
  return summary.result();
}

Heights measure(const Forest& forest, const fabric::Fabric* fabric, const Progress& progress) {
  if (forest.gpuCount < 1) {
    return {};
  }
  TreeReader reader(forest, fabric != nullptr ? fabric->gpus() : std::span<const NodeIndex>());
  const LinkLatencies latencies(fabric, forest.direction);
  const std::int64_t rotated = rotatedTrees(forest);
  if (rotated > 0 && latencies.areKnown() && !keepsLatencies(*fabric, rotationsIn(*forest.factored))) {
    return measureRoutes(reader, latencies, forest.direction, progress);
  }
  const EdgeDistances distances(forest, reader, latencies);
  if (forest.factored && rotated == 0) {
    const FactoredLayout layout(*forest.factored);
    if (PartHeights::isWorthwhile(layout)) {
      return PartHeights(layout, distances, progress).run();
    }
  }
  Summary summary;
  std::vector<Distance> distanceOf(forest.gpuCount);
  // Images are as high as the trees of rank 0.
  for (std::int64_t tree = 0; tree < (rotated > 0 ? rotated : reader.size()); ++tree) {
    throwIfCancelled(progress);
    const TreeReader::View view = reader.read(tree);
    Distance height;
    distanceOf[view.root] = {};
    for (const TreeReader::Edge& edge : view.edges) {
      distanceOf[edge.child] = distanceOf[edge.parent] + distances.of(edge);
      height.raise(distanceOf[edge.child]);
    }
    summary.add(height, view.multiplicity);
  }
  return summary.result();
}

}  // namespace

Heights heights(const Forest& forest) {
  return measure(forest, nullptr, {});
}

int maxHeight(const Forest& forest) {
  if (forest.factored) {
    return heights(forest).logicalMax;
  }
  int max = 0;
  std::vector<int> depthOf(std::max(forest.gpuCount, 0));
  for (const Tree& tree : forest.trees) {
    depthOf[tree.root] = 0;
    for (const TreeEdge& edge : forest.edgesOf(tree)) {
      const int depth = depthOf[edge.parent] + 1;
      depthOf[edge.child] = depth;
      max = std::max(max, depth);
    }
  }
  return max;
}

Heights heights(const Forest& forest, const fabric::Fabric& fabric, const Progress& progress) {
  return measure(forest, &fabric, progress);
}

std::int64_t latencyPicoseconds(const fabric::Fabric& fabric, const fabric::Arc& arc) {
  constexpr std::int64_t kPerMicrosecond = 1'000'000;
  constexpr std::int64_t kMax = 1'000'000 * kPerMicrosecond;
  if (arc.latency) {
    const Int128 doubled =
        Int128{arc.latency->count().numerator()} * (2 * kPerMicrosecond) / arc.latency->count().denominator();
    return static_cast<std::int64_t>(std::clamp<Int128>((doubled + 1) / 2, 0, kMax));
  }
  const NodeKind tail = fabric.nodes()[arc.tail].kind;
  const NodeKind head = fabric.nodes()[arc.head].kind;
  const auto joins = [&](NodeKind a, NodeKind b) { return (tail == a && head == b) || (tail == b && head == a); };
  if (joins(NodeKind::gpu, NodeKind::gpu)) {
    return kPerMicrosecond * 7 / 10;
  }
  if (joins(NodeKind::gpu, NodeKind::switchNode)) {
    return kPerMicrosecond * 35 / 100;
  }
  if (joins(NodeKind::gpu, NodeKind::nic)) {
    return kPerMicrosecond;
  }
  if (joins(NodeKind::nic, NodeKind::switchNode)) {
    return kPerMicrosecond * 125 / 100;
  }
  return joins(NodeKind::nic, NodeKind::nic) ? kPerMicrosecond * 25 / 10 : kPerMicrosecond / 2;
}

}  // namespace coppice::schedule
