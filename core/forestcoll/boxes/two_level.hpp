// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/path_recovery.hpp"
#include "forestcoll/switch_removal.hpp"
#include "forestcoll/tree_packing.hpp"

namespace coppice::forestcoll {

/// Trees over a logical topology of straight connections, ready for recoverPaths.
struct TwoLevelForest {
  LogicalTopology topology;
  LogicalProblem logical;
  std::vector<PackedTree> trees;
};

/// Forests of height 2 or 3 for boxes on a network (TwoLevelShape) whose bottleneck is the single GPU, not the box:
/// NVLink racks with fast NICs. Such boxes are not tight, so nothing falls apart and a dense graph would be packed
/// whole.
///
/// Write k_r for the trees of root r, K for all trees, K_b for those rooted in box b, m_b for its GPUs, and inner and
/// outer for the capacity of a GPU towards its box and towards the network.
///
/// - In its own box every root is a star: r sends all its trees to the others directly. Where r has no capacity for
///   that, some of the others pass the tree on in its place.
/// - Every tree rooted outside enters b at one or more GPUs, its ENTRIES, and each other GPU of b takes it from one of
///   them. An entry receives from the root, or where the root is not on its network (rails) or has no capacity left,
///   from another GPU of the root's box.
///
/// Each tree spans: its own box by the star, and every other box by its entries and those behind them. Its height is 2,
/// or 3 where some entry is not served by the root. Loads, with a_g the trees that enter at g:
///
///   g receives  a_g by the network                     <= outerIn(g)
///               K - k_g - a_g inside its box           <= innerIn(g)
///   g sends     its entries elsewhere                  <= outerOut(g)
///               k_g (m_b - 1), and to those behind it  <= innerOut(g)
///
/// So a_g >= K - k_g - innerIn(g); the sum of a_g over b is at least K - K_b, and large enough that what is left to
/// pass on fits the inner capacities of b together. All a_g are chosen as small and as even as these conditions allow.
/// TwoLevelEntries shares them among the trees of the other boxes. Within a box any GPU on the right network can serve
/// an entry, and any GPU can pass on trees of its own box, so that loads which fit together fit GPU by GPU. The
/// connections are then routed by one max flow per receiver.
///
/// Where roots have several trees each, these are made in equal copies as far as that loses nothing (TwoLevelSlice),
/// and otherwise one by one.
///
/// Where no routes are found (oversubscribed links between leaf switches and spines), entries are shared among the
/// sources once more, more and more of them with boxes under the same leaf.
///
/// Boxes that are all equal are left to growRotated, which needs fewer different trees.
///
/// Nothing where the fabric has no such shape, where the conditions fail, or where no routes are found. The result is
/// exact by construction; other forests may exist where it is nothing. Deterministic. Throws CancelledError,
/// WorkLimitReached.
[[nodiscard]] std::optional<TwoLevelForest> growTwoLevel(const Network& network, const std::vector<TreeArc>& capacities,
                                                         const std::vector<std::int64_t>& supply,
                                                         const Progress& progress);

}  // namespace coppice::forestcoll
