// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/placement.hpp"

namespace coppice::verify {

/// No choice of GPUs is faster than `upper`, by the cuts around the regions: however many members each of them gets, up
/// to its free GPUs, some cut allows no more. Checks that the regions form a tree, and adds up their links again.
/// Errors: verification naming the region; overflow.
[[nodiscard]] Outcome checkPlacementBound(const fabric::Fabric& fabric, const schedule::PlacementQuestion& question,
                                          const std::vector<schedule::PlacementRegion>& regions,
                                          const Bandwidth& upper);

}  // namespace coppice::verify
