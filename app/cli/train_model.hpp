// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command.hpp"
#include "input.hpp"
#include "training/step.hpp"
#include "workflow/training_job.hpp"

namespace coppice::cli {

struct ModelOptions {
  std::string model = {};
  std::string mesh = {};
  std::string gpu = "h100";
  std::int64_t batch = 0;
  std::int64_t sequence = 0;
  bool recompute = false;
  std::string plan = {};                  ///< sizes of axes that are given, as workflow::readPlan reads them
  std::string memory = {};                ///< of a GPU; empty = as the GPU has
  std::string efficiency = {};            ///< part of the peak that computation reaches; empty = all
  std::string tokens = {};                ///< of a whole training; empty = not asked
  std::vector<std::string> compare = {};  ///< other fabrics
};

/// What both ways to ask have in common.
struct ModelRequest {
  LoadedFabric loaded;
  training::Device device;
  training::StepDemand demand;
};
/// Without a batch, a step has about 4 million tokens; without a sequence, its length is 8192.
[[nodiscard]] Result<ModelRequest> readModelRequest(const ModelOptions& options, const FabricOptions& source,
                                                    const Progress& progress);

[[nodiscard]] std::string milliseconds(const Rational& nanoseconds);
/// "16 links of 50 GB/s such as b0g0 -> b0nic": the most expensive ones of a shared cut; empty where there is none.
[[nodiscard]] std::string cutText(const fabric::Fabric& fabric, const std::vector<workflow::CutLinks>& cut);

/// A step of a model on all GPUs, divided in any way that makes sense: the best plans, what each axis does, and what
/// limits the best.
[[nodiscard]] Result<Report> trainChoice(const ModelOptions& options, const FabricOptions& source,
                                         const Progress& progress);

/// A step of a model on a mesh of the fabric's GPUs: the front of plans, the best that fits, and what limits it.
[[nodiscard]] Result<Report> trainModel(const ModelOptions& options, const FabricOptions& source,
                                        const Progress& progress);

}  // namespace coppice::cli
