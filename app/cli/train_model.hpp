// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "command.hpp"
#include "input.hpp"
#include "workflow/training_request.hpp"

namespace coppice::cli {

struct ModelOptions {
  workflow::Values values = {};  ///< of workflow::trainingOptions()
  std::string mesh = {};
  std::vector<std::string> compare = {};  ///< other fabrics
  std::string output = {};                ///< a folder for the best plan; empty = none
  std::string trace = {};                 ///< a file for the timeline of the best plan; empty = none
};

/// What both ways to ask have in common.
struct ModelRequest {
  LoadedFabric loaded;
  workflow::TrainingRequest training;
};
[[nodiscard]] Result<ModelRequest> readModelRequest(const ModelOptions& options, const FabricOptions& source,
                                                    const Progress& progress);

/// A step of a model on all GPUs, divided in any way that makes sense: the best plans, what each axis does, and what
/// limits the best.
[[nodiscard]] Result<Report> trainChoice(const ModelOptions& options, const FabricOptions& source,
                                         const Progress& progress);

/// A step of a model on a mesh of the fabric's GPUs: the front of plans, the best that fits, and what limits it.
[[nodiscard]] Result<Report> trainModel(const ModelOptions& options, const FabricOptions& source,
                                        const Progress& progress);

/// A step whose graph torch wrote, on all GPUs as a mesh.
[[nodiscard]] Result<Report> trainGraph(const ModelOptions& options, const FabricOptions& source, bool hasStates,
                                        const Progress& progress);
/// What is read of a graph of torch.fx: without a fabric there is no mesh.
[[nodiscard]] Result<Report> showGraph(const std::string& text, const std::string& file);

}  // namespace coppice::cli
