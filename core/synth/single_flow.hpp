// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "synth/problem.hpp"

namespace coppice::synth {

/// Gather, scatter and tables like them, with the rounds of each step given: n chunks of every class are moved exactly
/// if one integer maximum flow in the fabric unrolled over the steps (switches and NICs within a step) carries them.
/// nullopt: no schedule has these rounds, or stop() said so. @pre problem.isSingleFlow
[[nodiscard]] std::optional<Steps> singleFlow(const Problem& problem, std::int64_t n,
                                              std::span<const std::int64_t> rounds,
                                              const std::function<bool()>& stop);

}  // namespace coppice::synth
