// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/network.hpp"

namespace coppice::forestcoll {

/// Pack sum(supply) spanning out-trees, supply[v] of them rooted at v, with at most `capacity` of them on each arc.
struct PackingProblem {
  int nodeCount = 0;
  std::vector<TreeArc> arcs;  ///< at most one per ordered pair, capacity > 0, no loops
  std::vector<std::int64_t> supply;
};

/// `multiplicity` equal trees; arcs are indices into PackingProblem::arcs, parents before children.
struct PackedTree {
  int root = 0;
  std::int64_t multiplicity = 1;
  std::vector<int> arcs;
};

struct PackingOptions {
  bool decompose = true;   ///< split at tight sets
  bool heuristics = true;  ///< whole trees checked in bulk; false = edge by edge with mu of Theorem 32 only
  int heightEffort = 1;    ///< work spent on low trees (with heuristics only): 0 = none, 1 = default, 2.. = more
  /// Packings of this height are looked for first; where none is found, higher trees are packed nevertheless.
  int maxHeight = std::numeric_limits<int>::max();
};

/// Spanning tree packing (Algorithm 4, Theorems 29-32), in four layers that are all exact: decomposition at tight sets
/// (a forest of the contracted graph and forests inside the sets compose freely), whole trees built greedily and
/// checked in bulk, rebuilding from the cuts that a failed check shows, and edge-by-edge construction with the exact
/// mu.
/// @pre in(Q) + supply(Q) >= sum(supply) for every non-empty node set Q (Theorem 29).
/// Throws Failure (internal, if the precondition is broken), CancelledError.
[[nodiscard]] std::vector<PackedTree> packTrees(const PackingProblem& problem, const Progress& progress,
                                                const PackingOptions& options = {});

}  // namespace coppice::forestcoll
