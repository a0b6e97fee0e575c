// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "base/progress.hpp"
#include "symmetry/digraph.hpp"

namespace coppice::symmetry {

/// Nodes that can be exchanged at will, such as the GPUs of one switch: of one colour, with the same arcs to the same
/// other nodes, and none among each other.
struct Twins {
  std::vector<std::vector<int>> classes;  ///< of two nodes or more, ascending
  /// The graph with the first node of each class alone, in a colour of its own for each number of twins.
  ColouredDigraph contracted;
  std::vector<int> nodeOf;  ///< by node of `contracted`
};

[[nodiscard]] Twins twinsOf(const ColouredDigraph& graph);

/// In each class, takes as many nodes as that divides round in cycles of this length; the others stay.
[[nodiscard]] Permutation turned(const Twins& twins, std::size_t length, int nodeCount);
/// The same symmetry of the whole graph: twins go where the first of them goes, and keep their order.
/// @param image a symmetry of `contracted`
[[nodiscard]] Permutation expanded(const Twins& twins, const Permutation& image, int nodeCount);

}  // namespace coppice::symmetry
