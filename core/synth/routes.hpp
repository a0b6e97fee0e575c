// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "fabric/fabric.hpp"

/// Routes from GPU to GPU that pass no other GPU.
namespace coppice::synth {

/// The arcs that a route passes, in order.
using Route = std::vector<int>;

/// All simple paths through switches and NICs, less those that use all links of another of the same pair; by sender,
/// then receiver. nullopt where there are more than `max`, or finding them takes too long.
[[nodiscard]] std::optional<std::vector<Route>> allRoutes(const fabric::Fabric& fabric, std::size_t max);

/// Of each pair up to `max` routes of the fewest links, spread over the switches that these may pass. nullopt where
/// there are more than `inAll`.
[[nodiscard]] std::optional<std::vector<Route>> shortestRoutes(const fabric::Fabric& fabric, std::size_t max,
                                                               std::size_t inAll);

}  // namespace coppice::synth
