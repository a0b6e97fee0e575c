// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

namespace coppice::schedule {

class FactoredLayout;

/// Reads any forest tree by tree, expanding parts as it goes; memory grows with the GPUs and the parts. Copies share
/// what is read-only, so that threads may read with one copy each.
class TreeReader {
public:
  /// One hop of an expanded tree. What lies between its two GPUs, in the direction of an out-tree's data, are the
  /// relays of three pieces after another; where trees are written out, `between` is the edge's route and the others
  /// are kNone.
  struct Edge {
    fabric::Rank parent = 0;
    fabric::Rank child = 0;
    PathId out = kNone;
    PathId between = kNone;
    PathId in = kNone;
    std::int32_t pruned = 0;  ///< as in TreeEdge
  };
  static constexpr PathId kNone = -1;

  /// One expanded tree, valid until the next is read. Edges list parents before children (breadth-first where the trees
  /// are written out).
  struct View {
    fabric::Rank root = 0;
    std::int64_t multiplicity = 1;
    std::span<const Edge> edges;
  };

  /// The forest must outlive the reader. gpus: the node of each rank (Fabric::gpus()); only path() needs it.
  /// @pre of a factored forest checkStructure finds no fault; of another, the trees' edges and routes are in range.
  TreeReader(const Forest& forest, std::span<const fabric::NodeIndex> gpus);

  /// Different trees.
  [[nodiscard]] std::int64_t size() const { return m_size; }
  /// Root and multiplicity alone; edges stay empty.
  [[nodiscard]] View head(std::int64_t tree) const;
  [[nodiscard]] View read(std::int64_t tree);

  /// Pieces of routes that edges name: Forest::paths where the trees are written out.
  [[nodiscard]] PathId pieceCount() const;
  /// The nodes of a piece, in the direction of an out-tree's data; none for kNone.
  [[nodiscard]] std::span<const fabric::NodeIndex> relays(PathId piece) const;
  /// Links on the way.
  [[nodiscard]] int hops(const Edge& edge) const {
    return static_cast<int>(relays(edge.out).size() + relays(edge.between).size() + relays(edge.in).size()) + 1;
  }
  /// The whole route in the direction of the data, as PathPool has it; valid until the next call.
  [[nodiscard]] std::span<const fabric::NodeIndex> path(const Edge& edge);

private:
  const Forest* m_forest;
  std::span<const fabric::NodeIndex> m_gpus;
  std::shared_ptr<const FactoredLayout> m_layout;  ///< null where the trees are written out
  std::int64_t m_size = 0;
  std::vector<Edge> m_edges;
  std::vector<fabric::NodeIndex> m_path;
};

/// How large a forest is, and would be written out.
struct ForestSize {
  std::int64_t trees = 0;          ///< different ones
  std::int64_t edges = 0;          ///< of all different trees
  std::int64_t bytes = 0;          ///< as it lies in memory
  std::int64_t expandedBytes = 0;  ///< about, with all trees written out; largest int64 where it leaves 64 bits
};
[[nodiscard]] ForestSize sizeOf(const Forest& forest);

}  // namespace coppice::schedule
