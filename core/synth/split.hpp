// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "synth/problem.hpp"

namespace coppice::synth {

/// The same schedule in `steps` steps and as many rounds: steps of several rounds are cut in two, and the sends of each
/// limit dealt out so that both parts hold them. Data only arrives earlier. Always possible where whole numbers of
/// chunks fit a round and no two limits share sends across; else tried, and nullopt where it fails or is stopped.
/// @pre more steps than it has, not more than its rounds
[[nodiscard]] std::optional<Steps> split(const Problem& problem, std::int64_t n, const Steps& schedule, int steps,
                                         const std::function<bool()>& stop);

}  // namespace coppice::synth
