// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/rows.hpp"
#include "forestcoll/network.hpp"

namespace coppice::live {

/// Parts of a network that can be exchanged with each other, proved, and the classes of nodes and arcs that such
/// exchanges map onto each other.
///
/// Candidates are the boxes of the fabric, at every level of nesting, and GROUPS: a switch in no box with all boxes and
/// GPUs that are linked to it and to nothing else outside, such as a leaf switch with its boxes; then a switch with all
/// groups that hang on it alone, such as a pod, and so on. Boxes and groups are treated alike. Two are equal if they
/// list GPUs, demands and colours in the same order, the same arcs between these nodes, and arcs of the same capacity
/// to the SAME nodes outside. Exchanging their nodes in order, and nothing else, then maps every arc of the network
/// onto an arc of the same capacity. So does every chain of such exchanges, whatever the levels. Boxes that are equal
/// in another order, or on other switches, are not found; then classes are smaller than they could be, which costs time
/// and nothing else. Linear in nodes and arcs.
///
/// symmetry::orbitsOf finds more, but gives orbits alone. Here the exchanges are kept, so that those which a change
/// breaks can be left out for each of many changes.
class EqualParts {
public:
  /// @param network its arcs are sorted by tail, then head, one per ordered pair
  /// @param boxes by node: path of the innermost box, empty = none
  /// @param colours by node: only nodes of the same colour are equal; empty = all have the same
  EqualParts(const forestcoll::Network& network, std::span<const std::string_view> boxes,
             std::span<const char> colours = {});

  /// By node the lowest node of its class. Exchanges of parts that hold one of the `fixed` nodes are left out: the
  /// others are still exchanges after any change of these nodes and of the arcs between them.
  [[nodiscard]] std::vector<int> nodeClasses(std::span<const int> fixed = {}) const;
  /// By arc the lowest arc of its class.
  [[nodiscard]] std::vector<int> arcClasses() const;

private:
  /// Boxes of one level, or groups. No node is in two.
  struct Layer {
    std::vector<int> partOf;                ///< by node; -1 = in none
    std::vector<std::vector<int>> nodes;    ///< by part, ascending
    std::vector<std::vector<int>> classes;  ///< of parts, ascending; with at least two
  };
  class Builder;

  /// Calls use(arc, other end) for the arcs of a node, first those to nodes of the same part: in the order in which
  /// equal parts have them. @param isOut whether the arcs begin at the node
  template <typename Use>
  void forEachArc(const Layer& layer, int node, bool isOut, bool isInside, Use&& use) const;
  [[nodiscard]] bool addLayer(Layer layer);

  std::vector<forestcoll::TreeArc> m_arcs;
  std::vector<std::int64_t> m_colour;  ///< by node: GPU or not, and the colour
  std::vector<std::int64_t> m_demand;
  Rows<int> m_outArcs;  ///< by node
  Rows<int> m_inArcs;
  std::vector<Layer> m_layers;
};

}  // namespace coppice::live
