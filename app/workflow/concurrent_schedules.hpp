// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "workflow/concurrent.hpp"
#include "workflow/make_schedule.hpp"

/// A schedule for each of several groups, all of which can run at the same time.
namespace coppice::workflow {

/// A group's schedule on the part of the fabric that is the group's: its GPUs in the order of its ranks, what relays,
/// and of each link the share that the group may use.
struct GroupSchedule {
  fabric::Description description;
  fabric::Fabric fabric;
  Judged judged;
  Bandwidth wanted;  ///< the rate of all groups times this one's weight
};

/// Divides the links between the groups as the optimum does, and makes a verified schedule of each group that keeps to
/// its shares, so that the schedules fit the fabric together. By ForestColl; alltoall by its exact routes; allreduce by
/// trees that reduce and broadcast at the same time, which may reach less than `wanted`. Errors: those of
/// groups::linkShares, verify::checkShares and makeSchedule.
[[nodiscard]] Result<std::vector<GroupSchedule>> scheduleGroups(const fabric::Fabric& fabric,
                                                                const schedule::ConcurrentDemand& demand,
                                                                const groups::Optimum& optimum,
                                                                const Progress& progress);

/// A file for each group, "group-007.forest.json" (steps: ".schedule.json"), with the group's part of the fabric.
/// Creates the folder. Returns the names in order. Errors: io naming the file; cancelled.
[[nodiscard]] Result<std::vector<std::string>> writeGroups(const std::filesystem::path& folder,
                                                           const std::vector<GroupSchedule>& schedules,
                                                           const Progress& progress);

}  // namespace coppice::workflow
