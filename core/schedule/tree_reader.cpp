// SPDX-License-Identifier: Apache-2.0
#include "schedule/tree_reader.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "schedule/rotation.hpp"

namespace coppice::schedule {
namespace {

template <typename T>
Int128 bytesOf(const std::vector<T>& values) {
  return Int128{static_cast<std::int64_t>(values.size())} * static_cast<std::int64_t>(sizeof(T));
}

std::int64_t clamped(Int128 value) {
  return static_cast<std::int64_t>(std::min<Int128>(value, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

TreeReader::TreeReader(const Forest& forest)
    : m_forest(&forest), m_size(static_cast<std::int64_t>(forest.trees.size())) {
  if (!forest.rotations.empty()) {
    m_rotations = std::make_shared<const RotationPowers>(forest.rotations);
    m_size *= forest.gpuCount;
  }
}

TreeReader::View TreeReader::head(std::int64_t tree) const {
  if (!m_rotations) {
    return {m_forest->trees[tree].root, m_forest->trees[tree].multiplicity, {}};
  }
  const auto written = static_cast<std::int64_t>(m_forest->trees.size());
  return {static_cast<fabric::Rank>(tree / written), m_forest->trees[tree % written].multiplicity, {}};
}

TreeReader::View TreeReader::read(std::int64_t tree) {
  View view = head(tree);
  m_root = view.root;
  if (!m_rotations) {
    view.edges = m_forest->edgesOf(m_forest->trees[tree]);
    return view;
  }
  m_edges.clear();
  for (TreeEdge edge : m_forest->edgesOf(m_forest->trees[tree % static_cast<std::int64_t>(m_forest->trees.size())])) {
    edge.parent = m_rotations->imageOfRank(edge.parent, view.root);
    edge.child = m_rotations->imageOfRank(edge.child, view.root);
    m_edges.push_back(edge);
  }
  view.edges = m_edges;
  return view;
}

std::span<const fabric::NodeIndex> TreeReader::path(const TreeEdge& edge) {
  const auto written = m_forest->paths[edge.path];
  if (!m_rotations) {
    return written;
  }
  m_path.clear();
  for (const fabric::NodeIndex node : written) {
    m_path.push_back(m_rotations->imageOfNode(node, m_root));
  }
  return m_path;
}

std::int64_t writtenBytes(std::int64_t trees, int gpuCount, std::int64_t routes) {
  // A route has a few nodes, and an entry in the index that finds equal ones.
  constexpr int kRouteBytes = 8 + 4 * 6 + 2 * 4;
  return clamped(Int128{trees} * (Int128{sizeof(Tree)} + Int128{std::max(gpuCount - 1, 0)} * Int128{sizeof(TreeEdge)}) +
                 Int128{routes} * kRouteBytes);
}

ForestSize sizeOf(const Forest& forest) {
  const Int128 edgesEach = std::max(forest.gpuCount - 1, 0);
  const bool hasImages = !forest.rotations.empty();
  ForestSize size;
  size.trees = static_cast<std::int64_t>(forest.trees.size()) * (hasImages ? std::max(forest.gpuCount, 1) : 1);
  size.edges = clamped(size.trees * edgesEach);
  Int128 bytes = bytesOf(forest.treesOfRoot) + bytesOf(forest.trees) + bytesOf(forest.edges) +
                 Int128{forest.paths.bytes()} + bytesOf(forest.rotations);
  for (const Rotation& rotation : forest.rotations) {
    bytes += bytesOf(rotation.image);
  }
  size.bytes = clamped(bytes);
  // As many different routes as there are pairs of GPUs, though most forests have fewer.
  const Int128 routes = std::min(size.trees * edgesEach, forest.gpuCount * edgesEach);
  size.writtenBytes =
      hasImages
          ? clamped(bytesOf(forest.treesOfRoot) + Int128{writtenBytes(size.trees, forest.gpuCount, clamped(routes))})
          : size.bytes;
  return size;
}

}  // namespace coppice::schedule
