// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "symmetry/digraph.hpp"

namespace coppice::symmetry {

[[nodiscard]] Permutation identity(int count);
/// `first`, then `second`.
[[nodiscard]] Permutation composed(const Permutation& first, const Permutation& second);
/// `base`, `exponent` times in a row. @pre exponent >= 0
[[nodiscard]] Permutation power(Permutation base, std::int64_t exponent);
/// Of the cycles in which the points lie, ascending, each once.
[[nodiscard]] std::vector<int> cycleLengths(const Permutation& image, std::span<const int> points);
/// The least; nullopt above 2^32.
[[nodiscard]] std::optional<std::int64_t> commonMultiple(std::span<const int> lengths);
/// All products, the identity first; nullopt where there are more than `max`.
[[nodiscard]] std::optional<std::vector<Permutation>> closure(std::span<const Permutation> generators, std::size_t max);

/// Extends permutations of some nodes to all. Each further node goes where its neighbours that are nearer to these
/// nodes go, with arcs of the same colours; nodes that look the same so keep their order. What this finds is checked in
/// full; there may be another extension where it finds none.
class Lifting {
public:
  /// `graph` must outlive this. It has at most one arc between two nodes in each direction.
  Lifting(const ColouredDigraph& graph, std::span<const int> given);

  /// The symmetry that takes given[i] to images[i], or nothing. Near linear in nodes and arcs; a wrong image is mostly
  /// noticed early.
  [[nodiscard]] std::optional<Permutation> find(std::span<const int> images);

private:
  struct Link {
    int node = 0;
    int out = -1;  ///< colour of the arc to the node, -1 = none
    int in = -1;
    friend auto operator<=>(const Link&, const Link&) = default;
  };

  using Signature = std::vector<int>;

  void listLinks();
  void measureLayers();
  /// Layer, colour and links to nearer nodes, these as `image` has them (empty: as they are).
  Signature signatureOf(int node, std::span<const int> image);
  [[nodiscard]] bool isSymmetry(const Permutation& image) const;

  const ColouredDigraph& m_graph;
  std::vector<int> m_given;
  std::vector<std::vector<Link>> m_links;  ///< by node, ascending
  std::vector<int> m_layer;                ///< hops from the nearest given node; -1 = none leads there
  std::vector<int> m_order;                ///< all but the given nodes, by layer
  std::vector<int> m_samples;              ///< nodes of the first layer that show early whether there is no extension
  std::map<Signature, std::vector<int>> m_alike;
  std::vector<int> m_placeOf;  ///< by node: among those with its signature
  std::vector<Link> m_scratch;
};

}  // namespace coppice::symmetry
