// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/in_network/gpu_forest.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"

namespace coppice::forestcoll {

using fabric::NodeIndex;
using schedule::TreeEdge;
using std::int64_t;

GpuForest::GpuForest(const fabric::Fabric& fabric, const InverseBandwidth& scale)
    : m_fabric(fabric), m_reached(static_cast<std::size_t>(fabric.nodeCount())) {
  m_forest.direction = schedule::Direction::out;
  m_forest.gpuCount = fabric.gpuCount();
  m_forest.scale = scale;
  m_forest.treesOfRoot.assign(static_cast<std::size_t>(fabric.gpuCount()), 0);
}

void GpuForest::expect(std::size_t trees) {
  m_forest.trees.reserve(m_forest.trees.size() + trees);
  m_forest.edges.reserve(m_forest.edges.size() + trees * static_cast<std::size_t>(m_fabric.gpuCount() - 1));
}

void GpuForest::add(const schedule::Forest& forest, std::span<const NodeIndex> relays,
                    const symmetry::Permutation& image, int64_t times, const Progress& progress) {
  const int gpus = m_fabric.gpuCount();
  const auto nodeOf = [&](int rank) { return rank < gpus ? m_fabric.gpus()[rank] : relays[rank - gpus]; };
  std::vector<Edge> edges;
  for (const schedule::Tree& tree : forest.trees) {
    throwIfCancelled(progress);
    edges.clear();
    for (const TreeEdge& edge : forest.edgesOf(tree)) {
      edges.push_back({nodeOf(edge.parent), nodeOf(edge.child), forest.paths[edge.path]});
    }
    addImage(nodeOf(tree.root), checkedMul(tree.multiplicity, times), edges, &image);
  }
}

void GpuForest::addTree(NodeIndex root, int64_t multiplicity, std::span<const Edge> edges) {
  addImage(root, multiplicity, edges, nullptr);
}

void GpuForest::addImage(NodeIndex root, int64_t multiplicity, std::span<const Edge> edges,
                         const symmetry::Permutation* image) {
  const auto rankOf = [&](NodeIndex node) { return m_fabric.nodes()[image == nullptr ? node : (*image)[node]].rank; };
  // GPUs by their number of GPUs from the root: breadth first among these, whatever lies between.
  m_order.clear();
  m_reached[root].depth = 0;
  for (const Edge& edge : edges) {
    Reached& child = m_reached[edge.child];
    child.parent = edge.parent;
    child.path = edge.path;
    child.depth = m_reached[edge.parent].depth + (isGpu(edge.child) ? 1 : 0);
    if (isGpu(edge.child)) {
      m_order.push_back(edge.child);
    }
  }
  std::stable_sort(m_order.begin(), m_order.end(),
                   [&](NodeIndex a, NodeIndex b) { return m_reached[a].depth < m_reached[b].depth; });
  const schedule::Tree written{rankOf(root), multiplicity, static_cast<int64_t>(m_forest.edges.size())};
  ++m_tree;
  for (const NodeIndex gpu : m_order) {
    TreeEdge edge = edgeTo(gpu, image);
    edge.parent = rankOf(edge.parent);
    edge.child = rankOf(edge.child);
    m_forest.edges.push_back(edge);
  }
  m_forest.trees.push_back(written);
  m_forest.treesOfRoot[written.root] = checkedAdd(m_forest.treesOfRoot[written.root], multiplicity);
}

TreeEdge GpuForest::edgeTo(NodeIndex gpu, const symmetry::Permutation* image) {
  // Towards the root, to the next GPU.
  m_way.clear();
  NodeIndex at = gpu;
  do {
    m_way.push_back(at);
    at = m_reached[at].parent;
  } while (!isGpu(at));
  std::reverse(m_way.begin(), m_way.end());
  TreeEdge edge{at, gpu, 0, 0};
  m_nodes.clear();
  for (const NodeIndex node : m_way) {
    Reached& reached = m_reached[node];
    m_nodes.insert(m_nodes.end(), reached.path.begin() + (m_nodes.empty() ? 0 : 1), reached.path.end());
    if (!isGpu(node)) {
      if (reached.servedIn == m_tree) {
        edge.pruned = static_cast<std::int32_t>(m_nodes.size()) - 1;
      }
      reached.servedIn = m_tree;
    }
  }
  if (image != nullptr) {
    for (NodeIndex& node : m_nodes) {
      node = (*image)[node];
    }
  }
  edge.path = m_routes.idOf(m_nodes);
  return edge;
}

schedule::Forest GpuForest::take() {
  std::stable_sort(m_forest.trees.begin(), m_forest.trees.end(),
                   [](const schedule::Tree& a, const schedule::Tree& b) { return a.root < b.root; });
  m_forest.paths = m_routes.takePaths();
  return std::move(m_forest);
}

}  // namespace coppice::forestcoll
