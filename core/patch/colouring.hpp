// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <utility>
#include <vector>

namespace coppice::patch {

/// A colour 0 .. D-1 for every arc, D the largest number of arcs out of or into a node, so that no two arcs out of a
/// node and no two into a node are equal (Koenig). Euler splits for even D, a matching for odd D.
[[nodiscard]] std::vector<int> colourArcs(int nodes, std::span<const std::pair<int, int>> arcs);
/// D.
[[nodiscard]] int largestDegree(int nodes, std::span<const std::pair<int, int>> arcs);

/// Directions of undirected edges after which every node has as many out as in, or one more of either where its number
/// of edges is odd: true = from first to second.
[[nodiscard]] std::vector<bool> eulerDirections(int nodes, std::span<const std::pair<int, int>> edges);

}  // namespace coppice::patch
