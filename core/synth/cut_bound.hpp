// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "synth/problem.hpp"

namespace coppice::synth {

/// A lower bound on rounds per chunk of each class, for any number of steps: what must cross a cut of the fabric, over
/// what its links carry. The largest over all cuts that separate sources from one destination, by maximum flow on the
/// links (Newton's method on the ratio, exact). For allgather that is the optimum of ForestColl. nullopt where the
/// topology has lost its links (parts of fabrics), or numbers leave 64 bits. Throws CancelledError.
[[nodiscard]] std::optional<Rational> cutBound(const Problem& problem, const Progress& progress);

}  // namespace coppice::synth
