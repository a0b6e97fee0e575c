// SPDX-License-Identifier: Apache-2.0
#include "workflow/concurrent_schedules.hpp"

#include <algorithm>
#include <ostream>
#include <set>
#include <utility>

#include "base/one_line.hpp"
#include "groups/shares.hpp"
#include "io/files.hpp"
#include "verify/concurrent_check.hpp"
#include "workflow/plan_files.hpp"

namespace coppice::workflow {
namespace {

using schedule::ConcurrentGroup;

const char* methodOf(Collective collective) {
  switch (collective) {
    case Collective::alltoall:
      return "alltoall";
    case Collective::allreduce:
      return "forestcoll-overlap";
    default:
      return kDefaultMethod;
  }
}

/// GPUs that only pass data on become relays.
fabric::Description partOf(const fabric::Fabric& fabric, const ConcurrentGroup& group, std::size_t index,
                           const std::vector<schedule::LinkShare>& shares) {
  fabric::Description part;
  part.name = fabric.name() + ", group " + std::to_string(index);
  std::set<fabric::NodeIndex> used;
  for (const schedule::LinkShare& share : shares) {
    used.insert({fabric.arcs()[share.arc].tail, fabric.arcs()[share.arc].head});
  }
  const auto add = [&](fabric::NodeIndex at, const char* kind) -> fabric::NodeDescription& {
    const fabric::Node& node = fabric.nodes()[at];
    part.nodes.push_back({.id = node.id, .kind = kind, .box = node.box});
    return part.nodes.back();
  };
  for (std::size_t place = 0; place < group.ranks.size(); ++place) {
    const fabric::NodeIndex node = fabric.gpus()[group.ranks[place]];
    add(node, "gpu").rank = static_cast<int>(place);
    used.erase(node);
  }
  for (const fabric::NodeIndex node : used) {
    add(node, fabric.nodes()[node].kind == fabric::NodeKind::switchNode ? "switch" : "nic");
  }
  for (const schedule::LinkShare& share : shares) {
    const fabric::Arc& arc = fabric.arcs()[share.arc];
    part.links.push_back({.src = fabric.nodes()[arc.tail].id,
                          .dst = fabric.nodes()[arc.head].id,
                          .bandwidth = share.bandwidth.gigabytesPerSecond().toString(),
                          .duplex = false});
  }
  return part;
}

}  // namespace

Result<std::vector<GroupSchedule>> scheduleGroups(const fabric::Fabric& fabric,
                                                  const schedule::ConcurrentDemand& demand,
                                                  const groups::Optimum& optimum, const Progress& progress) {
  const auto shares = groups::linkShares(fabric, demand, optimum, progress);
  if (!shares) {
    return shares.error();
  }
  if (const Outcome checked = verify::checkShares(fabric, demand, *shares); !checked) {
    return checked.error();
  }
  Progress quiet = progress;
  quiet.onReport = {};
  std::vector<GroupSchedule> schedules;
  for (std::size_t i = 0; i < demand.groups.size(); ++i) {
    progress.report("generating", static_cast<double>(i) / static_cast<double>(demand.groups.size()));
    const ConcurrentGroup& group = demand.groups[i];
    fabric::Description description = partOf(fabric, group, i, (*shares)[i]);
    auto part = fabric::Fabric::build(description);
    if (!part) {
      return part.error();
    }
    Demand wanted{.collective = group.collective};
    if (isRooted(group.collective)) {
      wanted.root = group.root;
    }
    auto judged = makeSchedule(*part, *findMethod(methodOf(group.collective)), wanted, {}, quiet);
    if (!judged) {
      Error error = judged.error();
      error.message = "group " + std::to_string(i) + ": " + error.message;
      return error;
    }
    schedules.push_back({std::move(description), *std::move(part), *std::move(judged), optimum.lower * group.weight});
  }
  return schedules;
}

Result<std::vector<std::string>> writeGroups(const std::filesystem::path& folder,
                                             const std::vector<GroupSchedule>& schedules, const Progress& progress) {
  if (const Outcome made = io::makeFolder(folder); !made) {
    return made.error();
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    const GroupSchedule& each = schedules[i];
    const bool isForest = std::holds_alternative<schedule::Schedule>(each.judged.made.schedule);
    const std::size_t digits = std::to_string(schedules.size() - 1).size();
    std::string number = std::to_string(i);
    number.insert(0, digits - number.size(), '0');
    names.push_back("group-" + number + (isForest ? ".forest.json" : ".schedule.json"));
    const auto write = [&](std::ostream& out) {
      return writeSchedule(out, each.judged.made.schedule, each.fabric, each.description, progress);
    };
    if (Outcome saved = io::saveFile(folder / names.back(), write); !saved) {
      return saved.error();
    }
  }
  return names;
}

}  // namespace coppice::workflow
