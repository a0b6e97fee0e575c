// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstddef>

#include "designer/schedules/schedule_result.hpp"
#include "forestcoll/repair/kept_trees.hpp"
#include "schedule/tree_edit.hpp"

namespace coppice::designer {

/// The schedule with one tree changed by hand, verified and measured. `name` is that of the base. Meant for another
/// thread. Errors: those of workflow::sculpted and examineSchedule, badUsage (a schedule in steps).
[[nodiscard]] Result<ScheduleResultPtr> editTree(const ScheduleResult& base, const QString& name, std::size_t half,
                                                 const schedule::NewParent& change, const Progress& progress);

/// The best schedule with the trees that are locked, by half. Meant for another thread. Errors: those of
/// workflow::aroundLocked and examineSchedule, badUsage (a schedule in steps).
[[nodiscard]] Result<ScheduleResultPtr> generateAround(const ScheduleResult& base, const QString& name,
                                                       const std::array<forestcoll::LockedTrees, 2>& locked,
                                                       const Progress& progress);

}  // namespace coppice::designer
