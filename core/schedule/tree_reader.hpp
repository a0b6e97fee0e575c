// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

namespace coppice::schedule {

class RotationPowers;

/// Reads a forest tree by tree, the images under its rotations included: of n written trees and R rotations' images,
/// tree i is written tree i, or with rotations the image of written tree i % n with root i / n. Memory grows with one
/// tree. Copies share what is read-only, so that threads may read with one copy each.
class TreeReader {
public:
  /// Valid until the next tree is read. Edges list parents before children, as in the written tree. With rotations an
  /// edge names the route of which its own is the image; path() gives it.
  struct View {
    fabric::Rank root = 0;
    std::int64_t multiplicity = 1;
    std::span<const TreeEdge> edges;
  };

  /// The forest must outlive the reader.
  /// @pre the trees' edges and routes are in range, and rotationFault finds nothing
  explicit TreeReader(const Forest& forest);

  /// Different trees.
  [[nodiscard]] std::int64_t size() const { return m_size; }
  /// Root and multiplicity alone; edges stay empty.
  [[nodiscard]] View head(std::int64_t tree) const;
  [[nodiscard]] View read(std::int64_t tree);

  /// Links on the way.
  [[nodiscard]] int hops(const TreeEdge& edge) const { return static_cast<int>(m_forest->paths[edge.path].size()) - 1; }
  /// The route of an edge of the tree that was read last, in the direction of the data; valid until the next call.
  [[nodiscard]] std::span<const fabric::NodeIndex> path(const TreeEdge& edge);

private:
  const Forest* m_forest;
  std::shared_ptr<const RotationPowers> m_rotations;  ///< null where every tree is written
  std::int64_t m_size = 0;
  fabric::Rank m_root = 0;
  std::vector<TreeEdge> m_edges;
  std::vector<fabric::NodeIndex> m_path;
};

/// How large a forest is, and would be with every tree written.
struct ForestSize {
  std::int64_t trees = 0;         ///< different ones, images included
  std::int64_t edges = 0;         ///< of all different trees
  std::int64_t bytes = 0;         ///< as it lies in memory
  std::int64_t writtenBytes = 0;  ///< about, with every tree written; the largest int64 where it leaves 64 bits
};
[[nodiscard]] ForestSize sizeOf(const Forest& forest);

/// Bytes of `trees` written trees with `routes` different routes between the GPUs, about.
[[nodiscard]] std::int64_t writtenBytes(std::int64_t trees, int gpuCount, std::int64_t routes);

}  // namespace coppice::schedule
