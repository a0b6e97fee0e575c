// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/progress.hpp"
#include "finder/profile.hpp"
#include "topology/digraph.hpp"

/// Exact steps and loads of graphs and of expansions that are not built.
namespace coppice::finder {

/// All targets. Throws CancelledError. @pre strongly connected, degree <= kMaxLinks
[[nodiscard]] Value valueOfAll(const topology::Digraph& graph, const Progress& progress = {});

/// L^k(G) from the jobs of one node of G. The target (y_0, …, y_k) of L^k(G), y_0 being that node, gets d^k times what
/// y_0 gets, k steps later, and d^(s-1) shards of its own line on every link in steps s <= k; less, at each of the k
/// expansions, the one job that would be the target's own shard.
/// @pre vertex-transitive, or with a removal that never reaches all targets of a step (undirected graphs); simple;
/// degree 2 or more; the search is over `graph` itself (allgather) or its transpose with `graph` transposed too
[[nodiscard]] Value lineGraphValue(const topology::Digraph& graph, const Profile& profileOfNode0, int times);

/// Pi_{d,m}: only half of the targets, as x -> -1-x is an automorphism. Throws CancelledError.
[[nodiscard]] Value kautzValue(int degree, int nodes, bool isReduceScatter, const Progress& progress = {});

/// Diameter of Pi_{d,m}, without its loads.
[[nodiscard]] int kautzSteps(int degree, int nodes);

/// T* of Definition 10: the smallest k with 1 + d + … + d^k >= N.
[[nodiscard]] int mooreSteps(std::int64_t nodes, std::int64_t degree);

}  // namespace coppice::finder
