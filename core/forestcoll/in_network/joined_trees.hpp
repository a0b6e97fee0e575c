// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "base/progress.hpp"
#include "base/units.hpp"
#include "forestcoll/in_network/hub_parts.hpp"
#include "forestcoll/in_network/tree_columns.hpp"

namespace coppice::forestcoll {

/// Trees over several hubs at once, such as rails or planes that each have some of the GPUs of every box: in most parts
/// the hubs count as one node, so that each GPU hangs on any of them, and in turn one of the equal parts with the most
/// room joins them, with trees that reach every hub. The more parts there are, the less joining takes.
/// nullopt where fewer than two hubs are there, where no part has links to all of them, where parts differ in too many
/// ways, and where less than kHubsWorthIt of `upper` can be reached. Throws OverflowError, CancelledError.
[[nodiscard]] std::optional<TreePacking> packJoined(const HubParts& parts, const HubSplit& split,
                                                    const Bandwidth& upper, std::chrono::milliseconds budget,
                                                    const Progress& progress);

}  // namespace coppice::forestcoll
