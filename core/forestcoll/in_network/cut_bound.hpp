// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/progress.hpp"
#include "forestcoll/in_network/tree_mixture.hpp"

/// Bounds of an allreduce by trees that need no linear program: sets of nodes of which the dual solution is known.
/// Each is valid on every fabric, and none needs symmetry.
namespace coppice::forestcoll {

/// The bound by a partition of the GPUs into p parts: all trees together enter and leave parts 2(p-1) times per unit of
/// data. A relay belongs to the part whose GPUs alone lie in its box, or to none. Trees that enter a plain relay of no
/// part leave it as often, so that each group of such relays needs only one side of its links to the parts.
/// @param partOf by rank, from 0, at least two parts
[[nodiscard]] TreeBound partitionBound(const TreeGraph& graph, const TreeDemand& demand,
                                       const std::vector<int>& partOf);

/// The best of the bounds by partition into single GPUs and into boxes.
[[nodiscard]] TreeBound partitionBound(const TreeGraph& graph, const TreeDemand& demand);

/// The bound by one cut: what enters a set of nodes, with GPUs inside and outside, carries all data once. The least
/// cut, by maximum flows. Throws OverflowError, CancelledError.
[[nodiscard]] TreeBound leastCutBound(const TreeGraph& graph, const Progress& progress);

}  // namespace coppice::forestcoll
