// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "symmetry/digraph.hpp"

namespace coppice::symmetry {

/// Parts that may be equal: by node the number of its part, 0 or more; -1 = in none.
using Parts = std::vector<int>;

/// Which nodes and arcs a group of symmetries takes to each other: by node and by arc the lowest of its orbit. Every
/// orbit is proved; it may be smaller than that of all symmetries.
struct Orbits {
  std::vector<int> ofNode;
  std::vector<int> ofArc;
  /// Of the group: the nodes that each one moves, with their images. Only where they are asked for.
  std::vector<std::vector<std::pair<int, int>>> generators = {};
};

/// Orbits of a graph that may have very many symmetries. First equal parts are contracted, one list of candidates after
/// the other, smaller parts first: two are equal if they list nodes of the same colours in the same order, the same
/// arcs between these, and arcs of the same colours to the SAME nodes outside. Exchanging their nodes in order, and
/// nothing else, is then a symmetry. One of them stays, and its colours say how many it stands for. What is left goes
/// through nauty, within `maxWork` (automorphisms.hpp). Linear in nodes and arcs for each list, but for sorting the
/// arcs of each node. Throws CancelledError.
[[nodiscard]] Orbits orbitsOf(const ColouredDigraph& graph, std::span<const Parts> candidates, std::int64_t maxWork,
                              const Progress& progress = {}, bool wantsGenerators = false);

}  // namespace coppice::symmetry
