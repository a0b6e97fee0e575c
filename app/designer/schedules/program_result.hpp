// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "fabric/fabric.hpp"
#include "program/program.hpp"

namespace coppice::designer {

/// A program on a fabric, with the figures that schedules have: what its links allow, the bound of its collective, and
/// the load of each link. It has no transfers; ScheduleResult::program is what is simulated. Meant for another thread.
/// @param root of its data, as the verifier found it; -1 = none
/// @pre the verifier accepts the program
/// Errors: badInput (other number of ranks than GPUs), those of workflow::contenderOf.
[[nodiscard]] Result<ScheduleResultPtr> examineProgram(const fabric::Description& description,
                                                       std::shared_ptr<const program::Program> program, int root,
                                                       const Progress& progress);

}  // namespace coppice::designer
