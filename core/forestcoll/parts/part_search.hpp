// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/network.hpp"

namespace coppice::forestcoll {

/// Disjoint tight sets with at least two GPUs each, as large as they may be: at most half of the GPUs, and no more than
/// a box (64) or twice the square root of all, so that neither the parts nor the outside become large. Around every GPU
/// in turn the smallest tight set is found and widened by GPUs close by. Nodes ascend within each set.
/// @pre capacities are feasible for the supplies. Throws Failure (internal, where they are not), CancelledError.
[[nodiscard]] std::vector<std::vector<int>> tightParts(const Network& network, const std::vector<TreeArc>& capacities,
                                                       const std::vector<std::int64_t>& supply,
                                                       const Progress& progress);

}  // namespace coppice::forestcoll
