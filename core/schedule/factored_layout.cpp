// SPDX-License-Identifier: Apache-2.0
#include "schedule/factored_layout.hpp"

namespace coppice::schedule {

FactoredLayout::FactoredLayout(const FactoredForest& forest) : m_forest(forest), m_rotations(rotationsIn(forest)) {
  measureShapes();
  m_places.resize(forest.instances.size());
  m_rankOfLeaf.resize(index(part(topShapeIndex()).leafCount));
  m_relayStart.reserve(index(part(topShapeIndex()).viaCount) + 1);
  place(forest.top, {});
  flatten();
}

void FactoredLayout::measureShapes() {
  m_parts.resize(m_forest.shapes.size());
  for (std::size_t i = 0; i < m_forest.shapes.size(); ++i) {
    const FactoredForest::Shape& shape = m_forest.shapes[i];
    Part& part = m_parts[i];
    part.viaCount = static_cast<int>(shape.viaStart.size());
    part.leafStart.reserve(shape.childShape.size() + 1);
    part.viaStart.reserve(shape.childShape.size());
    for (const int child : shape.childShape) {
      part.leafStart.push_back(part.leafCount);
      part.viaStart.push_back(part.viaCount);
      part.leafCount += child == FactoredForest::kGpu ? 1 : m_parts[index(child)].leafCount;
      part.viaCount += child == FactoredForest::kGpu ? 0 : m_parts[index(child)].viaCount;
    }
    part.leafStart.push_back(part.leafCount);
  }
}

void FactoredLayout::place(int instance, Place base) {
  const FactoredForest::Instance& here = m_forest.instances[index(instance)];
  const FactoredForest::Shape& shape = m_forest.shapes[index(here.shape)];
  m_places[index(instance)] = base;
  m_relayStart.push_back(static_cast<std::int64_t>(m_relays.size()));
  for (std::size_t via = 0; via + 1 < shape.viaStart.size(); ++via) {
    for (std::int64_t i = shape.viaStart[via]; i < shape.viaStart[via + 1]; ++i) {
      m_relays.push_back(here.switches[index(shape.viaSwitches[index(i)])]);
    }
    m_relayStart.push_back(static_cast<std::int64_t>(m_relays.size()));
  }
  const Part& sizes = part(here.shape);
  for (std::size_t node = 0; node < here.children.size(); ++node) {
    if (shape.childShape[node] == FactoredForest::kGpu) {
      m_rankOfLeaf[index(base.leafBase + sizes.leafStart[node])] = here.children[node];
    } else {
      place(here.children[node], {base.leafBase + sizes.leafStart[node], base.viaBase + sizes.viaStart[node]});
    }
  }
}

/// Small parts come first, since they are used most.
void FactoredLayout::flatten() {
  m_flat.resize(m_forest.shapes.size());
  std::int64_t room = kMaxFlatEdges;
  for (std::size_t i = 0; i < m_forest.shapes.size(); ++i) {
    const auto trees = static_cast<std::int64_t>(m_forest.shapes[i].trees.size());
    const std::int64_t edgesEach = m_parts[i].leafCount - 1;
    if (static_cast<int>(i) == topShapeIndex() || edgesEach == 0 || trees > room / edgesEach) {
      continue;
    }
    std::vector<FlatEdge> flat;
    flat.reserve(index(trees * edgesEach));
    for (std::int64_t tree = 0; tree < trees; ++tree) {
      forEachEdge(static_cast<int>(i), static_cast<int>(tree), {}, [&](int parent, int child, const Vias& vias) {
        flat.push_back({parent, child, vias});
      });
    }
    room -= trees * edgesEach;
    m_flat[i] = std::move(flat);
  }
}

}  // namespace coppice::schedule
