// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

namespace coppice::schedule {

struct LoadOptions {
  bool ownCopies = false;    ///< Schedule::ownCopies
  bool wholeRoutes = false;  ///< every edge loads all links of its route, pruned or not
};

/// Trees of the forest on each arc of the fabric, by index. Where the rotations of the forest are symmetries of the
/// fabric, the written trees are read alone. Links that the fabric has not are left out. Throws OverflowError,
/// CancelledError.
[[nodiscard]] std::vector<std::int64_t> linkLoads(const fabric::Fabric& fabric, const Forest& forest,
                                                  const LoadOptions& options = {}, const Progress& progress = {});

/// The smallest scale with which the links carry the forest: what the busiest one needs. Throws as linkLoads.
[[nodiscard]] InverseBandwidth neededScale(const fabric::Fabric& fabric, const Forest& forest,
                                           const Progress& progress = {});

}  // namespace coppice::schedule
