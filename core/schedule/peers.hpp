// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
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

/// Of one rank, how many GPUs it sends to or receives from, whichever are more, in a forest whose rotations tell for
/// all ranks at once; nothing without rotations.
[[nodiscard]] std::optional<int> peersOneWay(const Forest& forest);

}  // namespace coppice::schedule
