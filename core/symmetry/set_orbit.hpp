// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/rows.hpp"
#include "symmetry/digraph.hpp"

namespace coppice::symmetry {

/// The images of a set of nodes under a group, and its stabiliser: the symmetries of the group that keep the set. The
/// mean, over the group, of what the stabiliser keeps is its mean over the images.
struct SetOrbit {
  std::vector<Permutation> images;  ///< for each image of the set one symmetry that makes it, the identity first
  std::vector<int> ofNode;          ///< orbits of the stabiliser: by node the lowest of its orbit
  std::vector<int> ofArc;           ///< by arc
};

/// Of one group. Both arguments must outlive this.
class SetOrbits {
public:
  using Moves = std::vector<std::pair<int, int>>;

  /// @param graph at most one arc per ordered pair
  /// @param generators of the group of symmetries of `graph`: the nodes that each one moves, with their images
  SetOrbits(const ColouredDigraph& graph, std::span<const Moves> generators);

  /// nullopt where there are more than `max` images. The stabiliser is generated as by Schreier's lemma.
  [[nodiscard]] std::optional<SetOrbit> of(const std::vector<bool>& set, std::size_t max) const;

private:
  class Stabiliser;

  const ColouredDigraph& m_graph;
  std::span<const Moves> m_generators;
  Rows<int> m_arcsAt;                              ///< by node
  std::unordered_map<std::uint64_t, int> m_arcOf;  ///< by both ends
};

}  // namespace coppice::symmetry
