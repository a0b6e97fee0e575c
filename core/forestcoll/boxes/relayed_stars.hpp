// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/boxes/two_level.hpp"
#include "forestcoll/network.hpp"

namespace coppice::forestcoll {

/// Forests of height 2 for terminals on a network where some cannot send all their trees straight to every other one,
/// as routeStars has it: leaf switches with few boxes beside full ones, for example. What the full ones lack the others
/// have left.
///
/// Let n terminals root r(v) trees each, K in all, and let v be able to send out(v) and to receive in(v) trees. With
/// every tree a star, v receives K - r(v) and sends r(v) (n - 1). Where that exceeds out(v), some of v's trees are
/// RELAYED: another terminal w, which has the tree from v, passes it on to c of the n - 2 others in v's place. Then
///
///   - the tree spans still, with a height of 2, since w and the others that v serves are next to the root, and those
///     behind w are next to w;
///   - each terminal receives each tree once, as before, so that in(v) >= K - r(v) suffices;
///   - v sends c trees less and w c trees more.
///
/// So loads fit iff what the short ones lack, short(v) = max(0, r(v) (n - 1) - out(v)), goes to terminals with
/// room(w) = out(w) - r(w) (n - 1) > 0. It is dealt out exactly, w with the most room first: as many copies as possible
/// with all n - 2 others behind w, and one with the rest, so that few different trees arise. Where all capacities are
/// balanced and every in(v) = K - r(v), the sum of short equals the sum of room.
///
/// The connections are then routed by one max flow per receiver (routeDemands). Nothing where every terminal can send
/// its stars (routeStars has answered that), where there is too little room, where some terminal would need more
/// relayed copies than it has trees, or where no routes are found. Deterministic. Throws CancelledError.
[[nodiscard]] std::optional<TwoLevelForest> growRelayedStars(const Network& network,
                                                             const std::vector<TreeArc>& capacities,
                                                             const std::vector<std::int64_t>& supply,
                                                             const Progress& progress);

}  // namespace coppice::forestcoll
