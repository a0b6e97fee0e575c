// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/fabric.hpp"
#include "schedule/factored.hpp"
#include "schedule/rotation.hpp"

/// Places of the parts of a factored forest, laid out so that one base tells where a part's leaves and vias lie.
namespace coppice::schedule {

/// Leaves and vias are numbered through the whole forest, those of a part (with all parts in it) in a row: an empty
/// via, the part's own vias, then those of its nodes in node order. So the same tree at two places of a shape differs
/// by two constants.
/// @pre checkStructure finds no fault. Immutable; threads may share it.
class FactoredLayout {
public:
  struct Part {
    int leafCount = 0;
    int viaCount = 0;            ///< with the empty one and those of all parts within
    std::vector<int> leafStart;  ///< by node, and the end
    std::vector<int> viaStart;   ///< by node: first via of the node's part, counted from the part's first
  };
  /// A route's vias: out of the tail's part, between the parts, into the head's part.
  struct Vias {
    int out = 0;
    int between = 0;
    int in = 0;
  };
  struct Place {
    int leafBase = 0;
    int viaBase = 0;
  };

  explicit FactoredLayout(const FactoredForest& forest);

  [[nodiscard]] const FactoredForest& forest() const { return m_forest; }
  [[nodiscard]] const FactoredForest::Shape& topShape() const { return m_forest.shapes[index(topShapeIndex())]; }
  [[nodiscard]] int topShapeIndex() const { return m_forest.instances[index(m_forest.top)].shape; }
  [[nodiscard]] const Part& part(int shape) const { return m_parts[index(shape)]; }
  [[nodiscard]] const Place& place(int instance) const { return m_places[index(instance)]; }
  [[nodiscard]] fabric::Rank rankOf(int leaf) const { return m_rankOfLeaf[index(leaf)]; }
  [[nodiscard]] const RotationPowers& rotations() const { return m_rotations; }
  [[nodiscard]] int viaCount() const { return static_cast<int>(m_relayStart.size()) - 1; }
  /// Switches of a via, in the order of an out-tree's data.
  [[nodiscard]] std::span<const fabric::NodeIndex> relays(int via) const {
    const std::size_t first = static_cast<std::size_t>(m_relayStart[index(via)]);
    return {m_relays.data() + first, static_cast<std::size_t>(m_relayStart[index(via) + 1]) - first};
  }

  /// Calls edge(parentLeaf, childLeaf, vias) for the edges of a tree of a part, parents before children. Bases as of
  /// the part's place; all 0 for a part by itself.
  template <typename Edge>
  void forEachEdge(int shape, int tree, Place base, Edge&& edge) const;

private:
  struct FlatEdge {
    int parent = 0;
    int child = 0;
    Vias vias;
  };

  /// Parts whose trees have at most this many edges in all are kept written out.
  static constexpr std::int64_t kMaxFlatEdges = std::int64_t{1} << 22;

  static std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }
  void measureShapes();
  void place(int instance, Place base);
  void flatten();

  const FactoredForest& m_forest;
  std::vector<Part> m_parts;                  ///< by shape
  std::vector<std::vector<FlatEdge>> m_flat;  ///< by shape: trees after another; empty = not kept
  std::vector<Place> m_places;                ///< by instance
  std::vector<fabric::Rank> m_rankOfLeaf;
  std::vector<std::int64_t> m_relayStart{0};
  std::vector<fabric::NodeIndex> m_relays;
  RotationPowers m_rotations;
};

template <typename Edge>
void FactoredLayout::forEachEdge(int shape, int tree, Place base, Edge&& edge) const {
  const Part& part = m_parts[index(shape)];
  if (const std::vector<FlatEdge>& flat = m_flat[index(shape)]; !flat.empty()) {
    const std::int64_t count = part.leafCount - 1;
    const FlatEdge* const first = flat.data() + tree * count;
    for (const FlatEdge* it = first; it != first + count; ++it) {
      edge(base.leafBase + it->parent, base.leafBase + it->child,
           Vias{base.viaBase + it->vias.out, base.viaBase + it->vias.between, base.viaBase + it->vias.in});
    }
    return;
  }
  const FactoredForest::Shape& parts = m_forest.shapes[index(shape)];
  const FactoredForest::PartTree& chosen = parts.trees[index(tree)];
  const FactoredForest::Skeleton& skeleton = parts.skeletons[index(chosen.skeleton)];
  const FactoredForest::Pattern& pattern = parts.patterns[index(chosen.pattern)];
  const FactoredForest::Choice* choice = parts.choices.data() + pattern.firstChoice;
  const auto goOn = [&](int node, int innerTree) {
    const int child = parts.childShape[index(node)];
    forEachEdge(child, innerTree,
                {base.leafBase + part.leafStart[index(node)], base.viaBase + part.viaStart[index(node)]}, edge);
  };
  if (parts.childShape[index(skeleton.root)] != FactoredForest::kGpu) {
    goOn(skeleton.root, choice->innerTree);
  }
  std::int64_t left = choice->count - 1;
  const FactoredForest::Arc* const firstArc = parts.arcs.data() + skeleton.firstArc;
  const FactoredForest::Arc* const lastArc = firstArc + (parts.childShape.size() - 1);
  for (const FactoredForest::Arc* arc = firstArc; arc != lastArc; ++arc, --left) {
    while (left == 0) {
      left = (++choice)->count;
    }
    int tailLeaf = part.leafStart[index(arc->tail)];
    int headLeaf = part.leafStart[index(arc->head)];
    Vias vias{0, 1 + choice->via, 0};
    if (const int child = parts.childShape[index(arc->tail)]; child != FactoredForest::kGpu) {
      const FactoredForest::Port& port = m_forest.shapes[index(child)].outPorts[index(choice->tailPort)];
      tailLeaf += port.leaf;
      vias.out = part.viaStart[index(arc->tail)] + 1 + port.via;
    }
    const int child = parts.childShape[index(arc->head)];
    if (child != FactoredForest::kGpu) {
      const FactoredForest::Port& port = m_forest.shapes[index(child)].inPorts[index(choice->headPort)];
      headLeaf += port.leaf;
      vias.in = part.viaStart[index(arc->head)] + 1 + port.via;
    }
    edge(base.leafBase + tailLeaf, base.leafBase + headLeaf,
         Vias{base.viaBase + vias.out, base.viaBase + vias.between, base.viaBase + vias.in});
    if (child != FactoredForest::kGpu) {
      goOn(arc->head, choice->innerTree);
    }
  }
}

}  // namespace coppice::schedule
