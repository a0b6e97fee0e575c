// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <map>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "designer/document/model.hpp"

/// Places for nodes, by what the fabric is: pure functions of a Model, which may run on any thread. Deterministic.
namespace coppice::designer {

enum class ArrangementStyle {
  tiered,  ///< by structure: see arranged()
  rails,   ///< boxes under each other, their GPUs in columns, one rail switch above each column
  circle,  ///< all on one circle, boxes side by side on it
  grid     ///< GPUs row by row in the order of their ranks or names, relays in rows above
};

/// New centres for `ids` (others are as if they were not there). `tiered`:
/// - a box is a block: GPUs in a row (several staggered rows where there are many, so that every link drops straight),
///   switches without a way out of the box below them, NICs and switches on the way out above, by distance;
/// - GPUs that are linked directly take their own form: ring, torus or mesh of any number of dimensions, hypercube,
///   clique; else where a grid has the fewest links through nodes;
/// - GPUs in no box that share a switch form a block of their own (the strongest links first);
/// - blocks are in rows above and below the network, with their NICs towards it; a network of several tiers forms
///   blocks of blocks (pods) first; blocks that are linked without a network are round an ellipse.
/// Cancelling throws CancelledError.
[[nodiscard]] std::map<NodeId, Point> arranged(const Model& model, const std::vector<NodeId>& ids,
                                               ArrangementStyle style, const Progress& progress = {});

/// arranged() moved to its place: pinned nodes are left out of the result, and new nodes are placed around them,
/// otherwise about the middle of where the nodes are now. Nodes that would cover one that stays move aside. What is
/// wanted of all nodes at once keeps its top left corner at the origin.
[[nodiscard]] std::map<NodeId, Point> rearranged(const Model& model, const std::vector<NodeId>& ids,
                                                 ArrangementStyle style, const Progress& progress = {});

/// Places for nodes that have none: arranged() by tiers, below everything that is placed already.
/// @param ids the nodes to place
[[nodiscard]] std::map<NodeId, Point> quickArrangement(const Model& model, const std::vector<NodeId>& ids);

/// The same for `places` computed elsewhere (Graphviz): puts them where rearranged() would.
[[nodiscard]] std::map<NodeId, Point> fitted(const Model& model, const std::vector<NodeId>& ids,
                                             std::map<NodeId, Point> places);

}  // namespace coppice::designer
