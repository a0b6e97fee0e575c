// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "forestcoll/network.hpp"

namespace coppice::forestcoll {

// Algorithm 5: the best scale for a fixed number k of trees per root.

/// Algorithm 5 and Theorems 33-35: smallest U (in 1/capacity units) for which capacities floor(U*b) and supplies k*a(v)
/// are feasible. `start` is any lower bound, such as k times the worst ratio. Throws as worstCut.
[[nodiscard]] Rational minScale(const Network& network, std::int64_t k, const Rational& start,
                                const Progress& progress);
/// The next U above the given one at which some floor(U*b) grows.
[[nodiscard]] Rational nextScale(const Network& network, const Rational& scale);
/// floor(U * b) for every arc.
[[nodiscard]] std::vector<TreeArc> scaledArcs(const Network& network, const Rational& scale);
/// Capacities and supplies must sum to less than a quarter of the 64-bit range: flows then stay exact, residual pairs
/// included. Throws OverflowError.
void requireFits(std::span<const TreeArc> capacities, const Network& network, std::int64_t k);
/// k * a(v) for every node.
[[nodiscard]] std::vector<std::int64_t> supplies(const Network& network, std::int64_t k);

}  // namespace coppice::forestcoll
