// SPDX-License-Identifier: Apache-2.0
#include "workflow/playable_groups.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"
#include "io/groups_json.hpp"
#include "simulate/forest_job.hpp"
#include "simulate/step_job.hpp"
#include "simulate/together.hpp"
#include "workflow/concurrent_schedules.hpp"
#include "workflow/convert_schedule.hpp"
#include "workflow/judged_schedule.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/schedule_file.hpp"

namespace coppice::workflow {
namespace {

namespace fs = std::filesystem;

/// "group-…json" in the order of their numbers, which have equally many digits.
std::vector<std::string> scheduleFiles(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("group-") && (name.ends_with(".forest.json") || name.ends_with(".schedule.json"))) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Error noGroups(const fs::path& folder, const std::string& what) {
  return {ErrorCode::badInput, inQuotes(folder.string()) + " is not a folder of schedules of groups: " + what,
          "give one that generate --groups or --mesh wrote with -o"};
}

/// One schedule with its job, which refers to the schedule's fabric.
struct Loaded {
  std::unique_ptr<const ReadSchedule> read;
  simulate::Job job;
};

Result<simulate::Job> jobOf(const ReadSchedule& read, const simulate::Model& model, const Progress& progress) {
  Result<std::vector<simulate::Job>> jobs = Error{};
  if (const auto* trees = std::get_if<schedule::Schedule>(&read.schedule)) {
    jobs = simulate::forestJobs(read.fabric, *trees, model, progress);
  } else {
    const auto& steps = std::get<schedule::StepSchedule>(read.schedule);
    if (steps.isSynchronous) {
      return Error{ErrorCode::badInput, "its steps wait for each other, so it has no pieces",
                   "simulate that schedule alone"};
    }
    jobs = simulate::stepJobs(read.fabric, steps, model, simulate::Barriers::steps, progress);
  }
  if (!jobs) {
    return jobs.error();
  }
  if (jobs->size() != 1) {
    return Error{ErrorCode::badInput, "its parts run one after the other", "simulate that schedule alone"};
  }
  return std::move(jobs->front());
}

Result<Loaded> loadOne(const fs::path& file, const simulate::Model& model, const Progress& progress) {
  const auto inFile = [&](Error error) {
    if (error.where.file.empty()) {
      error.where.file = file.string();
    }
    return error;
  };
  const auto text = readText(file.string(), {}, io::kMaxForestBytes);
  if (!text) {
    return text.error();
  }
  auto read = readSchedule(*text, file.string());
  if (!read) {
    return read.error();
  }
  if (const auto verified = requireVerified(read->fabric, read->schedule, progress); !verified) {
    return inFile(verified.error());
  }
  auto held = std::make_unique<const ReadSchedule>(*std::move(read));
  auto job = jobOf(*held, model, progress);
  if (!job) {
    return inFile(job.error());
  }
  return Loaded{std::move(held), *std::move(job)};
}

Result<simulate::JobPart> partOf(const Loaded& loaded, const schedule::ConcurrentGroup& group,
                                 const fabric::Fabric& whole, const std::string& name) {
  simulate::JobPart part{&loaded.job, {}, group.weight.toDouble()};
  for (const fabric::Node& node : loaded.read->fabric.nodes()) {
    const auto at = whole.find(node.id);
    if (!at) {
      return Error{ErrorCode::badInput, "the fabric has no node " + inQuotes(node.id) + " of " + name,
                   "simulate on the fabric that the schedules were generated for"};
    }
    part.nodes.push_back(*at);
  }
  const bool isGroup =
      loaded.read->fabric.gpus().size() == group.ranks.size() &&
      std::equal(group.ranks.begin(), group.ranks.end(), loaded.read->fabric.gpus().begin(),
                 [&](fabric::Rank rank, fabric::NodeIndex gpu) { return part.nodes[gpu] == whole.gpus()[rank]; });
  if (!isGroup || collectiveOf(loaded.read->schedule) != group.collective) {
    return Error{ErrorCode::badInput, name + " is not the schedule of its group", "generate the folder again"};
  }
  return part;
}

}  // namespace

Result<Playable> loadPlayableGroups(const PlaySource& source, const Progress& progress) {
  const fs::path folder = source.file;
  const std::vector<std::string> files = scheduleFiles(folder);
  if (files.empty() || !fs::exists(folder / kGroupsFile)) {
    return noGroups(folder, files.empty() ? "it has no schedules" : std::string("it has no ") + kGroupsFile);
  }
  FabricSource named{.source = source.fabric, .standardInput = source.standardInput};
  if (named.source.empty()) {
    if (!fs::exists(folder / kGroupsFabric)) {
      return Error{ErrorCode::badUsage, inQuotes(source.file) + " does not contain the fabric of all groups",
                   "add --fabric F"};
    }
    named.source = (folder / kGroupsFabric).string();
  }
  auto whole = loadFabric(named, progress);
  if (!whole) {
    return whole.error();
  }
  const auto text = readText((folder / kGroupsFile).string(), {});
  if (!text) {
    return text.error();
  }
  const auto demand = io::readGroups(*text, (folder / kGroupsFile).string(), whole->fabric);
  if (!demand) {
    return demand.error();
  }
  if (demand->groups.size() != files.size()) {
    return noGroups(folder, "it has " + std::to_string(files.size()) + " schedules of " +
                                std::to_string(demand->groups.size()) + " groups");
  }
  const auto model = modelOf(source, whole->fabric);
  if (!model) {
    return model.error();
  }
  Playable playable{.name = source.file, .kind = PlayableKind::groups};
  playable.loaded = std::make_shared<const LoadedFabric>(*std::move(whole));
  std::vector<Loaded> loaded;
  loaded.reserve(files.size());  // parts refer to their jobs
  std::vector<simulate::JobPart> parts;
  for (std::size_t i = 0; i < files.size(); ++i) {
    progress.report("reading", static_cast<double>(i) / static_cast<double>(files.size()));
    auto one = loadOne(folder / files[i], *model, progress);
    if (!one) {
      return one.error();
    }
    loaded.push_back(*std::move(one));
    auto part = partOf(loaded.back(), demand->groups[i], playable.fabric(), files[i]);
    if (!part) {
      return part.error();
    }
    parts.push_back(*std::move(part));
    playable.groups.push_back(
        {.file = files[i], .group = demand->groups[i], .algbw = schedule::algbwOf(loaded.back().read->schedule)});
  }
  auto all = simulate::joined(playable.fabric(), *model, parts);
  if (!all) {
    return all.error();
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    playable.groups[i].first = all->first[i];
    playable.groups[i].end = all->first[i + 1];
  }
  // busbw is that of the first group; algbw that of a group of weight 1.
  const schedule::ConcurrentGroup& group = demand->groups.front();
  playable.subject = simulate::subjectOf(playable.fabric(), group.collective, static_cast<int>(group.ranks.size()),
                                         std::move(all->job));
  return playable;
}

}  // namespace coppice::workflow
