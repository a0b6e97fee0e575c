// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "lp/work_limit.hpp"

/// The largest packing of spanning trees of an undirected graph. On fabrics of GPUs alone whose links do the same both
/// ways, the trees of an allreduce are such a packing: a tree and its mirror image load a link the same both ways,
/// wherever the root is.
namespace coppice::forestcoll {

struct WeightedEdge {
  int a = 0;
  int b = 0;
  std::int64_t capacity = 0;  ///< > 0
};

/// The largest rate of trees, `cross` / (`parts` - 1): as much capacity as lies between the parts of a partition, each
/// of whose trees needs one edge less than there are parts (Tutte, J. London Math. Soc. 36 (1961); Nash-Williams, the
/// same). With `parts` - 1 as the unit of capacities, the rate is the whole number `cross`.
struct SpanningPacking {
  std::vector<int> partOf;  ///< by node, from 0
  int parts = 0;
  std::int64_t cross = 0;
  int root = 0;  ///< a node in the middle of the graph
  /// By edge, in 1 / (parts - 1): what out-trees of the root take from a to b and from b to a, together at most the
  /// capacity. `cross` out-trees exist within it (Edmonds).
  std::vector<std::int64_t> forward;
  std::vector<std::int64_t> backward;
};

/// Newton's method on the rate (Cunningham, J. ACM 32 (1985)). For a rate, edges are taken up one after the other, as
/// much of each as leaves no set of nodes with more than trees could take inside it; that is found by turning edges
/// round so that no node has more than the rate entering it, as in pebble games (Lee and Streinu, Discrete Math. 308
/// (2008)).
/// @param edges at most one per pair, no loops; connected
/// nullopt where the budget of work is spent. Throws OverflowError, CancelledError.
[[nodiscard]] std::optional<SpanningPacking> spanningPacking(int nodeCount, const std::vector<WeightedEdge>& edges,
                                                             lp::Milliseconds budget, const Progress& progress);

}  // namespace coppice::forestcoll
