// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

/// Drawings that show the symmetry of a graph: pure geometry over numbered nodes.
namespace coppice::topology {

struct Spot {
  double x = 0;
  double y = 0;
};

/// What a drawing keeps clear.
struct Clearance {
  double node = 44;    ///< between the centre of a node and links that pass it
  double pitch = 100;  ///< between the centres of two nodes
};

/// More nodes are not drawn as nested polygons.
inline constexpr int kMaxNestedNodes = 128;

/// A torus as regular polygons at the corners of regular polygons, so that all links are straight and none of them
/// meets a node; two sides of 2 form a square. nullopt for more than kMaxNestedNodes nodes and where the drawing would
/// be far wider than a grid. @param sides the last counts fastest; all closed (a side of 2 is one link)
[[nodiscard]] std::optional<std::vector<Spot>> nestedPolygons(std::span<const int> sides, const Clearance& clearance);

/// Links from each node, heads ascending.
using Rows = std::vector<std::vector<int>>;
/// @param arcs pairs (from, to); repeats are dropped
[[nodiscard]] Rows rowsOf(int nodes, std::span<const std::pair<int, int>> arcs);

/// A rotation that maps links to links: nodes form blocks of `block` successive numbers, and all move on by `shift`
/// within their block. `order` repetitions give the identity; 1 = no rotation was found.
struct Rotation {
  int block = 1;
  int shift = 1;
  int order = 1;
};
/// The one of the highest order, of equals that with the largest blocks.
[[nodiscard]] Rotation rotationOf(const Rows& rows);

/// All nodes on one circle, or on a few circles inside each other, such that the rotation is one of the picture. Node 0
/// is at the top of the outermost, numbers run clockwise; those of a circulant by its smallest jump that visits all.
[[nodiscard]] std::vector<Spot> onCircles(const Rows& rows, const Clearance& clearance);

}  // namespace coppice::topology
