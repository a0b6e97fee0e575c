// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "symmetry/digraph.hpp"

namespace coppice::symmetry {

/// Permutations of the nodes that keep all colours and arcs and generate all that do, found by nauty (McKay and
/// Piperno, Practical graph isomorphism II, J. Symbolic Computation 60, 2014). None = only the identity. The same graph
/// gives the same generators.
///
/// `maxWork` counts nodes and arcs, as often as a node of the search tree is visited. Where it does not suffice, what
/// was found until then is returned; it may generate fewer. A search takes long where very many nodes can be exchanged
/// at will: contract such parts first (orbits.hpp). Threads may call this at once; one search runs at a time. Throws
/// CancelledError.
[[nodiscard]] std::vector<Permutation> generators(const ColouredDigraph& graph, std::int64_t maxWork,
                                                  const Progress& progress = {});

}  // namespace coppice::symmetry
