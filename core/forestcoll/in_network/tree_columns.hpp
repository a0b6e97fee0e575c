// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/in_network/tree_grower.hpp"
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
/// Trees that share the links, each a number of parts of one rate.
struct TreePacking {
  struct Part {
    GrownTree tree;
    std::int64_t count = 0;
  };
  Bandwidth unit;  ///< of one part
  std::vector<Part> parts = {};

  [[nodiscard]] Bandwidth algbw() const;  ///< of all of them. Throws OverflowError.
};

/// How much is tried.
enum class ColumnEffort {
  quick,    ///< only over hubs; for each part one program, where it is of moderate size
  thorough  ///< then hundreds of trees of one rate, and the program over these
};

struct ColumnTrees {
  Bandwidth algbw;
  schedule::Forest outTrees;  ///< over GPUs; the in-trees are their mirror images
};

/// Where switches that may branch join parts of the fabric that nothing else joins, the trees of the parts are packed
/// one by one instead (hub_trees.hpp), if that reaches the bound or more than the others.
/// @param mixture its kinds are tried too
/// nullopt where the links or the switches do not do the same both ways, where GPUs get their own copies, and where
/// numbers get too wide. Ends when `upper` is reached, or a fifth of the demand's budget is spent, up to three times
/// (quick: once).
/// Throws CancelledError.
[[nodiscard]] std::optional<ColumnTrees> treesByColumns(const fabric::Fabric& fabric, const TreeDemand& demand,
                                                        const std::optional<TreeMixture>& mixture,
                                                        const Bandwidth& upper, ColumnEffort effort,
                                                        const Progress& progress);

/// What enters the GPU with the least: no trees do better.
[[nodiscard]] Bandwidth leastIntoGpu(const TreeGraph& graph);

/// The same on a graph whose links are alike both ways.
/// @param mayBranch by node  @param budget of work, spent up to three times (quick: once)
/// Throws OverflowError, CancelledError.
[[nodiscard]] std::optional<TreePacking> packTrees(const TreeGraph& graph, const std::vector<bool>& mayBranch,
                                                   const std::optional<TreeMixture>& mixture, const Bandwidth& upper,
                                                   std::chrono::milliseconds budget, ColumnEffort effort,
                                                   const Progress& progress);

}  // namespace coppice::forestcoll
