// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/boxes/two_level.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/switch_removal.hpp"

namespace coppice::forestcoll {

/// A terminal that must be able to send some trees straight to the receiver in question.
struct SenderDemand {
  int sender = 0;  ///< rank
  std::int64_t trees = 0;
};

/// Appends the senders of one receiver, by ascending rank, each with its trees (above zero). Asked twice for each.
using ReceiverDemand = std::function<void(int receiver, std::vector<SenderDemand>& senders)>;

/// A logical topology with exactly the demanded capacity straight between every ordered pair of terminals. One max flow
/// per receiving terminal, on what the earlier ones left, through switches only; shares of the ways out are rationed so
/// that the last receivers get theirs.
///
/// Atoms 0 .. arcs-1 stand for the capacities given, in their order, with what is left over set to zero.
/// Nothing where the rationed flows fall short; other routes may exist then. Throws CancelledError.
/// @pre areSumsSmall, with the trees of the demand
[[nodiscard]] std::optional<LogicalTopology> routeDemands(const Network& network,
                                                          const std::vector<TreeArc>& capacities,
                                                          const ReceiverDemand& demand, const Progress& progress);

/// routeDemands with r(v) trees from every terminal v to every other one: then the forest is r(v) equal stars for every
/// v, the lowest there is. Every terminal receives exactly K - r(v).
[[nodiscard]] std::optional<LogicalTopology> routeStars(const Network& network, const std::vector<TreeArc>& capacities,
                                                        const std::vector<std::int64_t>& supply,
                                                        const Progress& progress);

/// The stars for which routeStars finds room, ready for recoverPaths; nothing where it finds none.
[[nodiscard]] std::optional<TwoLevelForest> growStars(const Network& network, const std::vector<TreeArc>& capacities,
                                                      const std::vector<std::int64_t>& supply,
                                                      const Progress& progress);

}  // namespace coppice::forestcoll
