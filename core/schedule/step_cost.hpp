// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/step_figures.hpp"
#include "schedule/step_schedule.hpp"

namespace coppice::schedule {

/// Time is linear in the links that transfers pass.
/// @param depth of the schedule's TransferOrder where the caller has it; asynchronous only
/// Errors: infeasible (nothing is sent), verification (a route is missing or leaves the fabric), overflow, cancelled.
Result<StepCost> stepCost(const fabric::Fabric& fabric, const StepSchedule& schedule, const Progress& progress = {},
                          std::optional<std::int32_t> depth = {});

}  // namespace coppice::schedule
