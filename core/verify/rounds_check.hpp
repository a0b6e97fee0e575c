// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/step_schedule.hpp"

namespace coppice::verify {

/// Checks the rounds that a step-synchronous schedule states (Cai et al., PPoPP 2021, section 3.2.1): in a step of r
/// rounds, a link of bandwidth b carries at most floor(b * r / unit) pieces of 1 / denominator of a shard. From fabric
/// and schedule alone.
/// @param unit GB/s; absent = every link carries one piece in a round
/// Returns one finding per link and step that carries more. Errors: badInput (no rounds; a route that leaves the
/// fabric, which verifySteps names), overflow.
Result<std::vector<Finding>> checkRounds(const fabric::Fabric& fabric, const schedule::StepSchedule& schedule,
                                         const std::optional<Bandwidth>& unit, const Progress& progress = {});

}  // namespace coppice::verify
