// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"
#include "program/program.hpp"
#include "schedule/concurrent.hpp"
#include "simulate/sweep.hpp"
#include "workflow/fabric_source.hpp"
#include "workflow/judged_schedule.hpp"

/// Schedules and programs together with what plays them on their fabric.
namespace coppice::workflow {

enum class PlayableKind {
  schedule,  ///< `.forest.json`, `.schedule.json`, or from a method
  trees,     ///< ForestColl's tree XML
  program,   ///< MSCCL XML
  groups     ///< a folder of schedules that run at the same time, as writeGroups makes it
};
/// "schedule", "trees", "program", "groups".
[[nodiscard]] std::string_view toString(PlayableKind kind);

/// A file to play, and how.
struct PlaySource {
  std::string file;         ///< "-" for standard input; a folder of several schedules that run at the same time
  std::string fabric = {};  ///< as FabricSource::source: needed for XML; for others another one than their own
  program::Runtime runtime = program::Runtime::msccl;
  StandardInput standardInput = {};
  simulate::Model model = {};
  simulate::Barriers barriers = simulate::Barriers::steps;
  std::string profile = {};  ///< what `coppice-exec profile --json` wrote, for withProfile(); empty = none
};

/// One of several schedules that run at the same time.
struct PlayedGroup {
  std::string file;  ///< within the folder
  schedule::ConcurrentGroup group;
  Bandwidth algbw = {};  ///< of its schedule alone, on its shares of the links
  simulate::MessageId first = 0;
  simulate::MessageId end = 0;  ///< behind its last message

  /// When its last message has arrived. @param run of the subject
  [[nodiscard]] Microseconds timeIn(const simulate::Run& run) const;
};

struct Playable {
  std::string name;  ///< the file, or the method's id
  PlayableKind kind = PlayableKind::schedule;
  std::shared_ptr<const LoadedFabric> loaded = {};
  std::optional<schedule::AnySchedule> schedule = {};
  std::shared_ptr<const program::Program> program = {};
  std::unique_ptr<simulate::Subject> subject = {};
  std::vector<Finding> notes = {};
  /// Of a folder: sizes are those of a group of weight 1, times last until all groups are done.
  std::vector<PlayedGroup> groups = {};

  [[nodiscard]] const fabric::Fabric& fabric() const { return loaded->fabric; }
};

/// The model of the source, with what its profile says of this fabric. Errors: badUsage, badInput, io.
[[nodiscard]] Result<simulate::Model> modelOf(const PlaySource& source, const fabric::Fabric& fabric);

/// Step schedules are verified, since only a sound one can be played; forests are not. Errors: badUsage (XML without
/// its fabric), badInput, verification, io, those of loadFabric and simulate::subjectOf.
[[nodiscard]] Result<Playable> loadPlayable(const PlaySource& source, const Progress& progress);

/// A schedule of this fabric. Errors: those of simulate::subjectOf.
[[nodiscard]] Result<Playable> playableOf(std::string name, std::shared_ptr<const LoadedFabric> loaded,
                                          schedule::AnySchedule schedule, const simulate::Model& model,
                                          simulate::Barriers barriers, const Progress& progress);

}  // namespace coppice::workflow
