// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "io/origin.hpp"
#include "workflow/compare.hpp"
#include "workflow/switch_plan.hpp"

/// A switch-over plan on disk.
namespace coppice::workflow {

/// The files of one program, without their folder.
struct PlanFiles {
  std::string program;   ///< "02-ring.xml"
  std::string schedule;  ///< "02-ring.schedule.json": beside its program, to be verified and simulated again
};

/// The schedule with its fabric, as `.forest.json` or `.schedule.json`. @param origin without a method: not known
[[nodiscard]] Outcome writeSchedule(std::ostream& out, const AnySchedule& schedule, const fabric::Fabric& fabric,
                                    const fabric::Description& description, const io::Origin& origin,
                                    const Progress& progress);

/// Programs, schedules, and plan.json, which says what is for which sizes. Creates the folder. Returns the files in the
/// order of the plan. Errors: io naming the file; cancelled.
[[nodiscard]] Result<std::vector<PlanFiles>> writePlan(const std::filesystem::path& folder,
                                                       std::span<const Contender> contenders, const SwitchPlan& plan,
                                                       const Destination& destination, const Progress& progress);

}  // namespace coppice::workflow
