// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "base/progress.hpp"
#include "synth/problem.hpp"

namespace coppice::synth {

/// One greedy pass, step after step: every receiver takes, over its arcs as far as limits allow, the chunks that count
/// most: what it needs itself, what it brings nearer to ranks that lack it, most of all to the farthest, and what few
/// ranks hold; with some noise. Chunks that arrive late with respect to the steps left come first. nullopt where the
/// last step leaves something undone: that proves nothing. Throws CancelledError.
[[nodiscard]] std::optional<Steps> pull(const Problem& problem, std::int64_t n, std::span<const std::int64_t> rounds,
                                        std::uint64_t seed, const std::function<bool()>& stop);

}  // namespace coppice::synth
