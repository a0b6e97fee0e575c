// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/boxes/star_routing.hpp"
#include "forestcoll/boxes/two_level_shape.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/switch_removal.hpp"

namespace coppice::forestcoll {

/// Trees that the first GPU must be able to send straight to the second; both are ranks.
using PairDemand = std::function<std::int64_t(int sender, int receiver)>;

/// routeDemands box by box and then between the boxes: `inner` through the switches of the box that both GPUs are in,
/// `outer` through the network between boxes: one demand for all of it or, where all GPUs are on the same networks
/// (planes), one for each of them, in the order of TwoLevelShape::networksOf. A box sees nothing but its own links, so
/// that the work grows with the boxes and not with their square. Atoms 0 .. arcs-1 stand for the capacities given.
/// Nothing where the routes of one part are not found. Throws CancelledError.
[[nodiscard]] std::optional<LogicalTopology> routeTwoLevel(const Network& network,
                                                           const std::vector<TreeArc>& capacities,
                                                           const TwoLevelShape& shape, const PairDemand& inner,
                                                           const std::vector<PairDemand>& outer,
                                                           const Progress& progress);

}  // namespace coppice::forestcoll
