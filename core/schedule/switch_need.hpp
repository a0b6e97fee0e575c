// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/progress.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

namespace coppice::schedule {

/// Whether the trees reach their algbw only because switches copy or sum: with every edge on all links of its route,
/// some link would carry more than floor(scale * bandwidth) trees, of both halves together where they overlap. Pruned
/// trees that fit without it need no switch. Throws OverflowError, CancelledError.
/// @pre the schedule has passed the verifier on this fabric
[[nodiscard]] bool needsSwitches(const fabric::Fabric& fabric, const Schedule& schedule, const Progress& progress = {});

}  // namespace coppice::schedule
