// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "program/used_sizes.hpp"
#include "workflow/drill.hpp"
#include "workflow/target.hpp"

/// A folder with a schedule and a program for each failure, and the plan that says which one is for what.
namespace coppice::workflow {

/// The files of one failure, without their folder.
struct DrillFiles {
  std::string schedule;  ///< "nic-b0nic3.forest.json": verified, to be simulated and exported again
  std::string program;   ///< "nic-b0nic3.xml"; empty where there is none
  std::string reason;    ///< why there is no program
  /// MSCCL XML: the calls for which the runtime takes the program.
  std::optional<program::UsedSizes> used = {};
};

/// Names of files by case: the kind and name of what has failed, each once.
[[nodiscard]] std::vector<std::string> drillFileNames(const std::vector<DrillCase>& cases);

/// Writes schedule and program of a repaired failure, or of the schedule in use. A program that does not fit its
/// runtime is left out, with the reason. Errors: io, those of the export.
[[nodiscard]] Result<DrillFiles> writeDrillFiles(const std::filesystem::path& folder, const std::string& name,
                                                 const fabric::Fabric& fabric, const fabric::Description& description,
                                                 const schedule::Schedule& schedule, const io::Origin& origin,
                                                 const std::optional<Destination>& destination,
                                                 const Progress& progress);

/// What the plan says of a failure.
struct SwitchingEntry {
  live::PartFailure failure;
  std::optional<Error> impossible;
  DrillFiles files;
  Bandwidth algbw;
  Bandwidth optimum;
  Rational moved;                 ///< share of the data that takes new trees
  std::vector<std::string> gpus;  ///< by rank; empty = those from before
};

struct SwitchingPlan {
  const DrillBase& base;
  std::optional<Destination> destination;
  DrillFiles inUse;
  std::vector<SwitchingEntry> entries;
};

/// switching.json and switching.md. Errors: io.
[[nodiscard]] Outcome writeSwitchingPlan(const std::filesystem::path& folder, const SwitchingPlan& plan);

}  // namespace coppice::workflow
