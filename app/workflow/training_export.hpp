// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "workflow/training_choice.hpp"
#include "workflow/training_request.hpp"

/// A plan of a training step for the tools that run it.
namespace coppice::workflow {

/// A plan in the words of another tool.
struct LaunchFlags {
  std::string tool;                  ///< "Megatron-LM"
  std::string file;                  ///< "megatron.sh"
  std::vector<std::string> flags;    ///< with their values: "--tensor-model-parallel-size 8"
  std::vector<std::string> missing;  ///< what of the plan the tool cannot be told
};
/// Of Megatron-LM and torchtitan.
[[nodiscard]] std::vector<LaunchFlags> launchFlags(const TrainingRequest& request, const training::StepPlan& plan);

/// plan.json (sizes, order of the ranks, the state of every tensor of a block on every axis), the flags of launchFlags,
/// groups-AXIS.json for `optimum --groups`, and in AXIS-COLLECTIVE/ a verified schedule for each group and collective
/// that the plan uses. Creates the folder. Returns the names. Errors: io naming the file; those of scheduleGroups.
[[nodiscard]] Result<std::vector<std::string>> writeTraining(const std::filesystem::path& folder,
                                                             const fabric::Fabric& fabric,
                                                             const TrainingRequest& request,
                                                             const training::StepPlan& plan, const Progress& progress);

}  // namespace coppice::workflow
