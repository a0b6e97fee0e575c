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
#include "simulate/sweep.hpp"
#include "workflow/fabric_source.hpp"
#include "workflow/judged_schedule.hpp"

/// Schedules and programs together with what plays them on their fabric.
namespace coppice::workflow {

enum class PlayableKind {
  schedule,  ///< `.forest.json`, `.schedule.json`, or from a method
  trees,     ///< ForestColl's tree XML
  program    ///< MSCCL XML
};
/// "schedule", "trees", "program".
[[nodiscard]] std::string_view toString(PlayableKind kind);

/// A file to play, and how.
struct PlaySource {
  std::string file;         ///< "-" for standard input
  std::string fabric = {};  ///< as FabricSource::source: needed for XML; for a schedule another one than its own
  program::Runtime runtime = program::Runtime::msccl;
  StandardInput standardInput = {};
  simulate::Model model = {};
  simulate::Barriers barriers = simulate::Barriers::steps;
  std::string profile = {};  ///< what `coppice-exec profile --json` wrote, for withProfile(); empty = none
};

struct Playable {
  std::string name;  ///< the file, or the method's id
  PlayableKind kind = PlayableKind::schedule;
  std::shared_ptr<const LoadedFabric> loaded = {};
  std::optional<schedule::AnySchedule> schedule = {};
  std::shared_ptr<const program::Program> program = {};
  std::unique_ptr<simulate::Subject> subject = {};
  std::vector<Finding> notes = {};

  [[nodiscard]] const fabric::Fabric& fabric() const { return loaded->fabric; }
};

/// Step schedules are verified, since only a sound one can be played; forests are not. Errors: badUsage (XML without
/// its fabric), badInput, verification, io, those of loadFabric and simulate::subjectOf.
[[nodiscard]] Result<Playable> loadPlayable(const PlaySource& source, const Progress& progress);

/// A schedule of this fabric. Errors: those of simulate::subjectOf.
[[nodiscard]] Result<Playable> playableOf(std::string name, std::shared_ptr<const LoadedFabric> loaded,
                                          schedule::AnySchedule schedule, const simulate::Model& model,
                                          simulate::Barriers barriers, const Progress& progress);

}  // namespace coppice::workflow
