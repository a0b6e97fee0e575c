// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/origin.hpp"
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
  Bandwidth wanted;        ///< the rate of all groups times this one's weight
  io::Origin origin = {};  ///< without a method where its trees are those that prove the rate of all groups
};

/// Divides the links between the groups as the optimum does, and makes a verified schedule of each group that keeps to
/// its shares, so that the schedules fit the fabric together. By ForestColl; alltoall by its exact routes; allreduce by
/// trees that reduce and broadcast at the same time, which may reach less than `wanted`. Errors: those of
/// groups::linkShares, verify::checkShares and makeSchedule.
[[nodiscard]] Result<std::vector<GroupSchedule>> scheduleGroups(const fabric::Fabric& fabric,
                                                                const schedule::ConcurrentDemand& demand,
                                                                const groups::Optimum& optimum,
                                                                const Progress& progress);

/// As io::readGroups reads it.
[[nodiscard]] std::string groupsText(const schedule::ConcurrentDemand& demand);

inline constexpr const char* kGroupsFile = "groups.json";
inline constexpr const char* kGroupsFabric = "cluster.fabric.json";

/// A file for each group, "group-007.forest.json" (steps: ".schedule.json"), with the group's part of the fabric; the
/// groups as io::readGroups reads them, kGroupsFile; and the fabric of all, kGroupsFabric, where it is given. Creates
/// the folder. Returns the names of the schedules in order. Errors: io naming the file; cancelled.
[[nodiscard]] Result<std::vector<std::string>> writeGroups(const std::filesystem::path& folder,
                                                           const schedule::ConcurrentDemand& demand,
                                                           const std::vector<GroupSchedule>& schedules,
                                                           const fabric::Description* whole, const Progress& progress);

}  // namespace coppice::workflow
