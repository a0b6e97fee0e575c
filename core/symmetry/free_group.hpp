// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "base/progress.hpp"
#include "symmetry/digraph.hpp"

namespace coppice::symmetry {

/// Symmetries of which none but the identity leaves one of the points where it is, and which generate a group of as
/// many elements as points at most: where they are as many, each point goes to each other in exactly one way. Looks for
/// the largest such group among powers of random products of the given symmetries; the same arguments give the same
/// answer. Empty where there is none but the identity. Throws CancelledError.
[[nodiscard]] std::vector<Permutation> freeGenerators(std::span<const Permutation> symmetries,
                                                      std::span<const int> points, const Progress& progress = {});

}  // namespace coppice::symmetry
