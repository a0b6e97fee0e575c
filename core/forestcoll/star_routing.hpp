// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/switch_removal.hpp"

namespace coppice::forestcoll {

/// A logical topology in which every terminal v has r(v) trees' worth of capacity straight to every other one: then the
/// forest is r(v) equal stars for every v, the lowest there is. One max flow per receiving terminal, on what the
/// earlier ones left, through switches only; shares of the ways out are rationed so that the last receivers get theirs.
///
/// Atoms 0 .. arcs-1 stand for the capacities given, in their order, with what is left over set to zero.
/// Nothing where the rationed flows fall short; other forests may exist then. Every terminal receives exactly
/// K - r(v). Throws CancelledError.
[[nodiscard]] std::optional<LogicalTopology> routeStars(const Network& network, const std::vector<TreeArc>& capacities,
                                                        const std::vector<std::int64_t>& supply,
                                                        const Progress& progress);

}  // namespace coppice::forestcoll
