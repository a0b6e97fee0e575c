// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/step_schedule.hpp"
#include "workflow/judged_schedule.hpp"

/// What the search found, judged from the fabric alone.
namespace coppice::workflow {

/// Verifies a step-synchronous schedule, its rounds included, and measures it. Errors: verification with the first
/// fault; those of the verifiers and of stepCost.
[[nodiscard]] Result<JudgedSchedule> judgeSynthesized(const fabric::Fabric& fabric, schedule::StepSchedule schedule,
                                                      const Bandwidth& unit, bool isOneBandwidth,
                                                      const Progress& progress);

}  // namespace coppice::workflow
