// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lowering/moves.hpp"
#include "lowering/plan.hpp"
#include "lowering/step_work.hpp"

/// Internal to core/lowering: the messages of step schedules for the planner, and their order.
namespace coppice::lowering {

/// Messages have their numbers in StepWork::messages.
[[nodiscard]] Moves movesOf(const StepWork& work, const Options& options);

/// Adds the order. Errors: infeasible where the run gets stuck. Throws CancelledError.
[[nodiscard]] Outcome orderSteps(const StepWork& work, const Moves& moves, const Options& options, const Style& style,
                                 Plan& plan, const Progress& progress);

}  // namespace coppice::lowering
