// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "flow/feasibility.hpp"
#include "forestcoll/network.hpp"

namespace coppice::forestcoll {

/// Largest value that a scaled oracle may meet is below 4 * total bandwidth * total demand: every capacity and supply
/// of the scaled problem is at most one of the two products, and a residual pair holds two of them.
[[nodiscard]] bool fits64(const Network& network);

/// The network at the ratio demand / exit: capacities times `demand`, supplies times `exit`. It is feasible exactly if
/// no cut has a larger ratio. Without `sinks`, all GPUs are.
template <typename Cap>
[[nodiscard]] flow::FeasibilityOracle<Cap> scaledOracle(const Network& network, std::int64_t demand, std::int64_t exit,
                                                        std::vector<int> sinks = {}) {
  std::vector<flow::CapacityArc<Cap>> arcs;
  arcs.reserve(network.arcs.size());
  for (const TreeArc& arc : network.arcs) {
    arcs.push_back({arc.tail, arc.head, Cap{arc.capacity} * demand});
  }
  std::vector<Cap> supply(network.nodeCount, 0);
  for (const int gpu : network.gpus) {
    const auto at = static_cast<std::size_t>(gpu);
    supply[at] = Cap{network.demand[at]} * exit;
  }
  return {network.nodeCount, arcs, std::move(supply), sinks.empty() ? network.gpus : std::move(sinks)};
}

}  // namespace coppice::forestcoll
