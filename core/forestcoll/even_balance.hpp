// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/network.hpp"

namespace coppice::forestcoll {

/// Capacities below the given ones that are balanced at every switch and still feasible, by a guess that treats equal
/// GPUs alike; nothing where the guess fails, which says nothing about others.
///
/// A linear program finds such capacities too, but its solutions are corners of a polyhedron: a few GPUs lose all of
/// the surplus. Trees then pass around these GPUs and get higher, and equal boxes are no longer equal. Here, where more
/// enters a switch than leaves it, its arcs from the GPUs with the most capacity beyond a star of all their trees are
/// lowered to a common level; where more leaves it, its arcs to the GPUs that receive the most beyond their need are.
/// Switches without GPUs come before those, and lower their arcs to nearer switches alike. Balance holds by
/// construction, and one pass of max flows checks the cuts. Throws CancelledError, WorkLimitReached.
[[nodiscard]] std::optional<std::vector<std::int64_t>> evenlyBalanced(const Network& network,
                                                                      const std::vector<TreeArc>& capacities,
                                                                      const std::vector<std::int64_t>& supply,
                                                                      const Progress& progress);

}  // namespace coppice::forestcoll
