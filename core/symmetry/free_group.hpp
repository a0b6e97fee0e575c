// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "symmetry/digraph.hpp"

namespace coppice::symmetry {

/// Groups of symmetries of which none but the identity leaves one of the points where it is, each by its generators:
/// with as many elements as points, each point goes to each other in exactly one way. Looks for large groups among
/// powers of random products of the given symmetries; the same arguments give the same answer. The largest first, none
/// twice, at most `max`; empty where there are none. Throws CancelledError.
[[nodiscard]] std::vector<std::vector<Permutation>> freeGroups(std::span<const Permutation> symmetries,
                                                               std::span<const int> points, std::size_t max,
                                                               const Progress& progress = {});

}  // namespace coppice::symmetry
