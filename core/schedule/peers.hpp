// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/progress.hpp"
#include "schedule/forest.hpp"

namespace coppice::schedule {

/// By rank: how many other GPUs it sends to or receives from in any tree of the schedule.
/// Throws CancelledError.
[[nodiscard]] std::vector<int> peersOf(const Schedule& schedule, const fabric::Fabric& fabric,
                                       const Progress& progress = {});

/// The largest of them; 0 without trees.
[[nodiscard]] int maxPeers(const Schedule& schedule, const fabric::Fabric& fabric, const Progress& progress = {});

}  // namespace coppice::schedule
