// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/progress.hpp"

namespace coppice::flow {

struct PricedArc {
  int tail = 0;
  int head = 0;
  std::int64_t capacity = 0;  ///< >= 0
  std::int64_t cost = 0;      ///< per unit of flow, >= 0
};

struct CheapestFlow {
  std::int64_t value = 0;
  std::vector<std::int64_t> flow;  ///< by arc, whole numbers
};

/// A flow of the value `wanted`, or the largest one where that is less, whose cost is the minimum of all flows of this
/// value. Primal-dual (Ford and Fulkerson, 1962): shortest paths at reduced costs give potentials, and a blocking flow
/// (Dinic) fills all paths of that length at once, so there is one round per distinct length of a path. Where all costs
/// are positive, the flow has no cycle.
/// @pre source != sink; ends within [0, nodeCount); capacities sum, and path costs stay, within 64 bits
/// Throws CancelledError.
[[nodiscard]] CheapestFlow cheapestFlow(int nodeCount, std::span<const PricedArc> arcs, int source, int sink,
                                        std::int64_t wanted, const Progress& progress = {});

}  // namespace coppice::flow
