// SPDX-License-Identifier: Apache-2.0
#include "workflow/playable.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/text.hpp"
#include "io/forest_json.hpp"
#include "io/schedule_json.hpp"
#include "io/tree_xml.hpp"
#include "program/msccl_xml.hpp"
#include "verify/step_verifier.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/measured_run.hpp"
#include "workflow/playable_groups.hpp"
#include "workflow/schedule_file.hpp"
#include "workflow/target.hpp"

namespace coppice::workflow {
namespace {

Result<std::shared_ptr<const LoadedFabric>> namedFabric(const PlaySource& source, const char* what,
                                                        const Progress& progress) {
  if (source.fabric.empty()) {
    return Error{ErrorCode::badUsage, std::string(what) + " does not contain its fabric", "add --fabric F"};
  }
  FabricSource named;
  named.source = source.fabric;
  named.standardInput = source.standardInput;
  auto loaded = loadFabric(named, progress);
  if (!loaded) {
    return loaded.error();
  }
  return std::make_shared<const LoadedFabric>(*std::move(loaded));
}

/// The fabric in the file, or the one that was named.
Result<std::shared_ptr<const LoadedFabric>> fabricFor(const PlaySource& source, LoadedFabric own,
                                                      const Progress& progress) {
  return source.fabric.empty() ? std::make_shared<const LoadedFabric>(std::move(own))
                               : namedFabric(source, "", progress);
}

/// playableOf() with the model of the source.
Result<Playable> playableFor(const PlaySource& source, std::shared_ptr<const LoadedFabric> loaded,
                             schedule::AnySchedule schedule, const Progress& progress) {
  const auto model = modelOf(source, loaded->fabric);
  if (!model) {
    return model.error();
  }
  return playableOf(source.file, std::move(loaded), std::move(schedule), *model, source.barriers, progress);
}

Result<Playable> loadForest(const PlaySource& source, const std::string& text, const Progress& progress) {
  auto read = io::loadForest(text, inputName(source.file));
  if (!read) {
    return read.error();
  }
  auto fabric = fabricFor(source, {std::move(read->description), std::move(read->fabric), {}}, progress);
  if (!fabric) {
    return fabric.error();
  }
  return playableFor(source, *std::move(fabric), std::move(read->schedule), progress);
}

Result<Playable> loadSteps(const PlaySource& source, const std::string& text, const Progress& progress) {
  auto read = io::loadSchedule(text, inputName(source.file));
  if (!read) {
    return read.error();
  }
  auto fabric = fabricFor(source, {std::move(read->description), std::move(read->fabric), {}}, progress);
  if (!fabric) {
    return fabric.error();
  }
  const auto verdict = verify::verifySteps((*fabric)->fabric, read->schedule, progress);
  if (!verdict) {
    return verdict.error();
  }
  if (!verdict->ok) {
    const Finding* fault = firstFault(verdict->findings);
    Place where = fault ? fault->where : Place{};
    where.file = inputName(source.file);
    return Error{ErrorCode::verification, "the schedule is not verified" + (fault ? ": " + fault->text : ""),
                 "verify lists all faults", std::move(where)};
  }
  return playableFor(source, *std::move(fabric), std::move(read->schedule), progress);
}

Result<Playable> loadTrees(const PlaySource& source, const std::string& text, const Progress& progress) {
  auto fabric = namedFabric(source, "a tree file", progress);
  if (!fabric) {
    return fabric.error();
  }
  const auto trees = io::readTreeXml(text, inputName(source.file));
  if (!trees) {
    return trees.error();
  }
  auto schedule = io::scheduleFromTrees(*trees, (*fabric)->fabric, trees->collective.value_or(Collective::allgather));
  if (!schedule) {
    return schedule.error();
  }
  auto playable = playableFor(source, *std::move(fabric), *std::move(schedule), progress);
  if (playable) {
    playable->kind = PlayableKind::trees;
  }
  return playable;
}

Result<Playable> loadProgram(const PlaySource& source, const std::string& text, const Progress& progress) {
  if (source.fabric.empty()) {
    return namedFabric(source, "a program", progress).error();
  }
  auto read = program::readMscclXml(text, source.runtime, inputName(source.file));
  if (!read) {
    return read.error();
  }
  auto fabric = namedFabric(source, "a program", progress);
  if (!fabric) {
    return fabric.error();
  }
  Playable playable{.name = source.file, .kind = PlayableKind::program, .loaded = *std::move(fabric)};
  playable.program = std::make_shared<const program::Program>(std::move(read->program));
  const auto model = modelOf(source, playable.fabric());
  if (!model) {
    return model.error();
  }
  playable.subject = simulate::subjectOf(playable.fabric(), *playable.program, *model);
  const auto refused = std::find_if(read->findings.begin(), read->findings.end(),
                                    [](const Finding& finding) { return finding.severity == Severity::error; });
  if (refused != read->findings.end()) {
    playable.notes.push_back(
        {Severity::warning, refused->code,
         std::string(program::toString(source.runtime)) + " would not run this file: " + refused->text,
         "verify lists all faults", refused->where});
  }
  return playable;
}

/// A file of a target. One that cannot be run cannot be played; other faults are told.
Result<Playable> loadTarget(const PlaySource& source, const Target& target, const std::string& text,
                            const Progress& progress) {
  auto fabric = namedFabric(source, "a plan", progress);
  if (!fabric) {
    return fabric.error();
  }
  const auto file = target.read(text, inputName(source.file), {}, progress);
  if (!file) {
    return file.error();
  }
  const Finding* fault = firstFault(file->findings);
  if (!file->isRunnable) {
    return Error{ErrorCode::badInput, "the plan cannot be run: " + fault->text, fault->fix, fault->where};
  }
  Playable playable{.name = source.file, .kind = PlayableKind::program, .loaded = *std::move(fabric)};
  const auto model = modelOf(source, playable.fabric());
  if (!model) {
    return model.error();
  }
  playable.subject = file->subject(playable.fabric(), *model);
  if (fault != nullptr) {
    playable.notes.push_back({Severity::warning, fault->code, "the plan has faults: " + fault->text,
                              "verify lists all faults", fault->where});
  }
  return playable;
}

}  // namespace

Result<simulate::Model> modelOf(const PlaySource& source, const fabric::Fabric& fabric) {
  simulate::Model model = source.model;
  if (!source.profile.empty()) {
    const auto text = readText(source.profile, source.standardInput, io::kMaxForestBytes);
    if (!text) {
      return text.error();
    }
    return withProfile(std::move(model), *text, inputName(source.profile), fabric);
  }
  return model;
}

std::string_view toString(PlayableKind kind) {
  switch (kind) {
    case PlayableKind::schedule:
      return "schedule";
    case PlayableKind::trees:
      return "trees";
    case PlayableKind::program:
      return "program";
    case PlayableKind::groups:
      return "groups";
  }
  return "?";
}

Result<Playable> loadPlayable(const PlaySource& source, const Progress& progress) {
  if (std::filesystem::is_directory(source.file)) {
    return loadPlayableGroups(source, progress);
  }
  const auto text = readText(source.file, source.standardInput, io::kMaxForestBytes);
  if (!text) {
    return text.error();
  }
  switch (scheduleFileKind(*text)) {
    case ScheduleFileKind::forest:
      return loadForest(source, *text, progress);
    case ScheduleFileKind::steps:
      return loadSteps(source, *text, progress);
    case ScheduleFileKind::trees:
      return loadTrees(source, *text, progress);
    case ScheduleFileKind::program: {
      const Target* target = targetOfFile(*text);
      return target != nullptr ? loadTarget(source, *target, *text, progress) : loadProgram(source, *text, progress);
    }
    case ScheduleFileKind::none:
      break;
  }
  return Error{ErrorCode::badInput, inputName(source.file) + " is neither a schedule nor a program",
               "give a .forest.json or .schedule.json file, MSCCL XML or tree XML"};
}

Microseconds PlayedGroup::timeIn(const simulate::Run& run) const {
  Microseconds last(0);
  for (simulate::MessageId message = first; message < end; ++message) {
    last = std::max(last, run.arrivals[message]);
  }
  return last;
}

Result<Playable> playableOf(std::string name, std::shared_ptr<const LoadedFabric> loaded,
                            schedule::AnySchedule schedule, const simulate::Model& model, simulate::Barriers barriers,
                            const Progress& progress) {
  Playable playable{.name = std::move(name), .loaded = std::move(loaded), .schedule = std::move(schedule)};
  const auto* forest = std::get_if<schedule::Schedule>(&*playable.schedule);
  auto subject = forest ? simulate::subjectOf(playable.fabric(), *forest, model, progress)
                        : simulate::subjectOf(playable.fabric(), std::get<schedule::StepSchedule>(*playable.schedule),
                                              model, barriers, progress);
  if (!subject) {
    return subject.error();
  }
  playable.subject = *std::move(subject);
  return playable;
}

}  // namespace coppice::workflow
