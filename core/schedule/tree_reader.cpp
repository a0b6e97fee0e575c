// SPDX-License-Identifier: Apache-2.0
#include "schedule/tree_reader.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "schedule/factored_layout.hpp"
#include "schedule/rotation.hpp"

namespace coppice::schedule {
namespace {

template <typename T>
Int128 bytesOf(const std::vector<T>& values) {
  return Int128{static_cast<std::int64_t>(values.size())} * static_cast<std::int64_t>(sizeof(T));
}

Int128 bytesOf(const FactoredForest& forest) {
  Int128 bytes = bytesOf(forest.shapes) + bytesOf(forest.instances);
  for (const FactoredForest::Shape& shape : forest.shapes) {
    bytes += bytesOf(shape.childShape) + bytesOf(shape.viaStart) + bytesOf(shape.viaSwitches) +
             bytesOf(shape.outPorts) + bytesOf(shape.inPorts) + bytesOf(shape.arcs) + bytesOf(shape.skeletons) +
             bytesOf(shape.choices) + bytesOf(shape.patterns) + bytesOf(shape.trees);
  }
  for (const FactoredForest::Instance& instance : forest.instances) {
    bytes += bytesOf(instance.children) + bytesOf(instance.switches);
  }
  return bytes;
}

std::int64_t clamped(Int128 value) {
  return static_cast<std::int64_t>(std::min<Int128>(value, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

TreeReader::TreeReader(const Forest& forest, std::span<const fabric::NodeIndex> gpus)
    : m_forest(&forest), m_gpus(gpus) {
  if (forest.factored) {
    m_layout = std::make_shared<const FactoredLayout>(*forest.factored);
    m_size = static_cast<std::int64_t>(m_layout->topShape().trees.size());
    if (isRotated(*forest.factored)) {
      m_size *= forest.gpuCount;
    }
    m_edges.resize(m_layout->part(m_layout->topShapeIndex()).leafCount - 1);
  } else {
    m_size = static_cast<std::int64_t>(forest.trees.size());
  }
}

TreeReader::View TreeReader::head(std::int64_t tree) const {
  if (!m_layout) {
    const Tree& written = m_forest->trees[tree];
    return {written.root, written.multiplicity, {}};
  }
  if (const std::int64_t own = rotatedTrees(*m_forest); own > 0) {
    const FactoredForest::PartTree& part = m_layout->topShape().trees[tree % own];
    return {static_cast<fabric::Rank>(tree / own), part.multiplicity, {}};
  }
  const FactoredForest::PartTree& part = m_layout->topShape().trees[tree];
  return {m_layout->rankOf(part.rootLeaf), part.multiplicity, {}};
}

TreeReader::View TreeReader::read(std::int64_t tree) {
  View view = head(tree);
  if (!m_layout) {
    m_edges.clear();
    for (const TreeEdge& edge : m_forest->edgesOf(m_forest->trees[tree])) {
      m_edges.push_back({edge.parent, edge.child, kNone, edge.path, kNone, edge.pruned});
    }
  } else {
    const FactoredLayout& layout = *m_layout;
    Edge* out = m_edges.data();
    const RotationPowers& rotations = layout.rotations();
    const std::int64_t part = rotations.isEmpty() ? tree : tree % rotatedTrees(*m_forest);
    layout.forEachEdge(layout.topShapeIndex(), static_cast<int>(part), {},
                       [&layout, &out](int parent, int child, const FactoredLayout::Vias& vias) {
                         *out++ = {layout.rankOf(parent), layout.rankOf(child), vias.out, vias.between, vias.in, 0};
                       });
    if (!rotations.isEmpty() && view.root != 0) {
      for (Edge& edge : m_edges) {
        edge.parent = rotations.imageOfRank(edge.parent, view.root);
        edge.child = rotations.imageOfRank(edge.child, view.root);
      }
    }
  }
  view.edges = m_edges;
  return view;
}

PathId TreeReader::pieceCount() const {
  return m_layout ? m_layout->viaCount() : m_forest->paths.size();
}

std::span<const fabric::NodeIndex> TreeReader::relays(PathId piece) const {
  if (piece == kNone) {
    return {};
  }
  if (m_layout) {
    return m_layout->relays(piece);
  }
  const auto path = m_forest->paths[piece];
  return path.size() < 2 ? path.first(0) : path.subspan(1, path.size() - 2);
}

std::span<const fabric::NodeIndex> TreeReader::path(const Edge& edge) {
  if (!m_layout) {
    return m_forest->paths[edge.between];
  }
  const RotationPowers& rotations = m_layout->rotations();
  const fabric::Rank root = m_edges.empty() ? 0 : m_edges.front().parent;  // of the tree that was read last
  m_path.clear();
  m_path.push_back(m_gpus[edge.parent]);
  for (const PathId piece : {edge.out, edge.between, edge.in}) {
    for (const fabric::NodeIndex node : m_layout->relays(piece)) {
      m_path.push_back(rotations.imageOfNode(node, root));
    }
  }
  m_path.push_back(m_gpus[edge.child]);
  if (m_forest->direction == Direction::in) {
    std::reverse(m_path.begin(), m_path.end());
  }
  return m_path;
}

ForestSize sizeOf(const Forest& forest) {
  const Int128 edgesEach = std::max(forest.gpuCount - 1, 0);
  ForestSize size;
  Int128 bytes = bytesOf(forest.treesOfRoot);
  Int128 expanded = bytes;
  if (!forest.factored) {
    size.trees = static_cast<std::int64_t>(forest.trees.size());
    bytes += bytesOf(forest.trees) + bytesOf(forest.edges) + Int128{forest.paths.bytes()};
    expanded = bytes;
  } else {
    const FactoredForest& parts = *forest.factored;
    bytes += bytesOf(parts);
    const bool hasTop = parts.top >= 0 && static_cast<std::size_t>(parts.top) < parts.instances.size();
    const int shape = hasTop ? parts.instances[parts.top].shape : -1;
    if (shape >= 0 && static_cast<std::size_t>(shape) < parts.shapes.size()) {
      size.trees = static_cast<std::int64_t>(parts.shapes[shape].trees.size()) *
                   (isRotated(parts) ? std::max(forest.gpuCount, 1) : 1);
    }
    // As many different routes as there are pairs of GPUs, though most forests have fewer; each of a few nodes, with
    // its entry in the index that finds equal ones.
    const Int128 routes = std::min(Int128{size.trees} * edgesEach, forest.gpuCount * edgesEach);
    constexpr int kRouteBytes = 8 + 4 * 6 + 2 * 4;
    expanded +=
        Int128{size.trees} * (Int128{sizeof(Tree)} + edgesEach * Int128{sizeof(TreeEdge)}) + routes * kRouteBytes;
  }
  size.edges = clamped(size.trees * edgesEach);
  size.bytes = clamped(bytes);
  size.expandedBytes = clamped(expanded);
  return size;
}

}  // namespace coppice::schedule
