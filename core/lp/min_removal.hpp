// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "lp/cut_finder.hpp"

namespace coppice::lp {

/// Ingress minus egress of every node.
[[nodiscard]] std::vector<std::int64_t> surpluses(int nodeCount, const std::vector<ArcEnds>& arcs,
                                                  std::span<const std::int64_t> capacities);

/// The largest (by sum) c' <= c with equal ingress and egress at every relay, cuts left aside: a minimum-cost flow of
/// removed capacity. nullopt: there is none, where no GPU has arcs. Throws CancelledError, OverflowError.
std::optional<std::vector<std::int64_t>> minRemoval(int nodeCount, const std::vector<bool>& isGpu,
                                                    const std::vector<ArcEnds>& arcs,
                                                    std::span<const std::int64_t> capacities, const Progress& progress);

}  // namespace coppice::lp
