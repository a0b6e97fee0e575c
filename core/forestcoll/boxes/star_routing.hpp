// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/switch_removal.hpp"

namespace coppice::forestcoll {

/// Trees that the first terminal must be able to send straight to the second; both are ranks.
using PairDemand = std::function<std::int64_t(int sender, int receiver)>;

/// A logical topology with exactly the demanded capacity straight between every ordered pair of terminals. One max flow
/// per receiving terminal, on what the earlier ones left, through switches only; shares of the ways out are rationed so
/// that the last receivers get theirs.
///
/// Atoms 0 .. arcs-1 stand for the capacities given, in their order, with what is left over set to zero.
/// Nothing where the rationed flows fall short; other routes may exist then. Throws CancelledError.
[[nodiscard]] std::optional<LogicalTopology> routeDemands(const Network& network,
                                                          const std::vector<TreeArc>& capacities,
                                                          const PairDemand& demand, const Progress& progress);

/// routeDemands with r(v) trees from every terminal v to every other one: then the forest is r(v) equal stars for every
/// v, the lowest there is. Every terminal receives exactly K - r(v).
[[nodiscard]] std::optional<LogicalTopology> routeStars(const Network& network, const std::vector<TreeArc>& capacities,
                                                        const std::vector<std::int64_t>& supply,
                                                        const Progress& progress);

}  // namespace coppice::forestcoll
