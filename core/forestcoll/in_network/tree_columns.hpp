// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/progress.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/in_network/tree_mixture.hpp"
#include "schedule/forest.hpp"

namespace coppice::forestcoll {

/// Few trees of an allreduce on a fabric whose links are alike both ways, found one by one. There a tree and its mirror
/// image load each link the same both ways wherever the root is, so that the best trees are a packing of undirected
/// trees:
///
///   maximise the sum of y_T over trees T, so that the trees of each link add up to at most its bandwidth.
///
/// Column generation: of the prices that the links have in the program over the trees so far, a tree that costs less
/// than 1 gains. Trees branch at GPUs and at capable switches, and pass other relays. They grow along cheapest paths
/// (Takahashi and Matsuyama, Math. Japonica 24 (1980)), so that the best of all trees may be missed: what is reached is
/// exact, that nothing is better is not claimed. As many different trees as there are scarce links, at most.
/// Where that leaves more than 1 %, hundreds of trees of one rate are grown again and again among each other (rip-up
/// and reroute).
struct ColumnTrees {
  Bandwidth algbw;
  schedule::Forest outTrees;  ///< over GPUs; the in-trees are their mirror images
};

/// @param mixture its kinds are tried too
/// nullopt where the links or the switches do not do the same both ways, where GPUs get their own copies, and where
/// numbers get too wide. Ends when `upper` is reached, or a fifth of the demand's budget is spent, up to three times.
/// Throws CancelledError.
[[nodiscard]] std::optional<ColumnTrees> treesByColumns(const fabric::Fabric& fabric, const TreeDemand& demand,
                                                        const std::optional<TreeMixture>& mixture,
                                                        const Bandwidth& upper, const Progress& progress);

}  // namespace coppice::forestcoll
