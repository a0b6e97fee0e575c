// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"
#include "schedule/route_index.hpp"
#include "symmetry/digraph.hpp"

namespace coppice::forestcoll {

/// Writes out-trees over GPUs alone, from trees that also reach relays and branch there. An edge that begins behind a
/// relay is pruned (schedule::TreeEdge::pruned) where another edge brings the relay the data; the first brings it.
class GpuForest {
public:
  GpuForest(const fabric::Fabric& fabric, const InverseBandwidth& scale);

  /// Makes room for as many more trees.
  void expect(std::size_t trees);
  /// The image of a forest, `times` as many of its trees. Its ranks are GPUs and then relays.
  /// @param relays the nodes of the ranks after the GPUs
  void add(const schedule::Forest& forest, std::span<const fabric::NodeIndex> relays,
           const symmetry::Permutation& image, std::int64_t times, const Progress& progress);

  /// An edge between two nodes that the tree reaches, and the nodes of its path, both ends included.
  struct Edge {
    fabric::NodeIndex parent = 0;
    fabric::NodeIndex child = 0;
    std::span<const fabric::NodeIndex> path;
  };
  /// One tree, parents before children.
  void addTree(fabric::NodeIndex root, std::int64_t multiplicity, std::span<const Edge> edges);

  /// The trees by root. @post the object is empty
  [[nodiscard]] schedule::Forest take();

private:
  void addImage(fabric::NodeIndex root, std::int64_t multiplicity, std::span<const Edge> edges,
                const symmetry::Permutation* image);
  [[nodiscard]] schedule::TreeEdge edgeTo(fabric::NodeIndex gpu, const symmetry::Permutation* image);
  [[nodiscard]] bool isGpu(fabric::NodeIndex node) const { return m_fabric.nodes()[node].rank >= 0; }

  struct Reached {
    fabric::NodeIndex parent = 0;
    int depth = 0;  ///< GPUs from the root
    std::span<const fabric::NodeIndex> path;
    int servedIn = -1;  ///< of a relay: the last tree in which an edge brought it the data
  };

  const fabric::Fabric& m_fabric;
  schedule::Forest m_forest;
  std::vector<Reached> m_reached;  ///< by node
  int m_tree = 0;
  std::vector<fabric::NodeIndex> m_order;
  std::vector<fabric::NodeIndex> m_way;
  std::vector<fabric::NodeIndex> m_nodes;
  schedule::RouteIndex m_routes;
};

}  // namespace coppice::forestcoll
