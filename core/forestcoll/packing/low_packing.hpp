// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/tree_packing.hpp"

namespace coppice::forestcoll {

struct LowPackingOptions {
  int maxHeight = std::numeric_limits<int>::max();  ///< no tree is higher
  int effort = 1;  ///< 0 = breadth-first levels or nothing; 1 = default; each more about doubles the work allowed
};

/// Spanning tree packing by levels, exact and low.
///
/// For every root r let l_r be a level function with l_r(r) = 0. Where each node v != r takes its parents in r's trees
/// from tails u of arcs (u, v) with l_r(u) < l_r(v), the parents form spanning trees of height at most max l_r,
/// whatever the choices. An arc's capacity is consumed at its head alone, so the choices fall apart into one
/// transportation problem per node: items = roots, bins = entering arcs. No cut condition is needed.
/// With breadth-first levels all heights are the minimum possible. On graphs without slack or symmetry some nodes'
/// problems have no solution; there levels are raised until all have one or the effort is spent.
///
/// nullopt: none was found within the effort, which says nothing about existence. Deterministic. Needs no
/// precondition but that capacities and supplies sum to less than the 64-bit range. Throws CancelledError,
/// WorkLimitReached.
[[nodiscard]] std::optional<std::vector<PackedTree>> packLow(const PackingProblem& problem, const Progress& progress,
                                                             const LowPackingOptions& options = {});

/// Lowers the trees of a packing: first the greatest height of all, then each tree's own, by giving the deepest nodes
/// (or nodes above them) other parents; other trees make room without becoming higher than allowed. The packing stays
/// exact, the greatest height never grows and, once that is settled, no tree's does. At most an eighth more trees
/// arise, in small problems only. Large ones (trees x nodes) are left as they are when they are low enough already, or
/// when the tables would take more than about 1 GB. Deterministic; `effort` as in LowPackingOptions. Throws
/// CancelledError.
void lowerTrees(const PackingProblem& problem, std::vector<PackedTree>& trees, const Progress& progress, int effort);

}  // namespace coppice::forestcoll
