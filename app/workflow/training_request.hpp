// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "training/layout.hpp"
#include "training/step.hpp"
#include "training/step_timeline.hpp"
#include "workflow/options.hpp"

/// What is asked of a training step, for the command line and the window alike.
namespace coppice::workflow {

/// What computes: gpu, memory, efficiency and recompute.
struct TrainingMachine {
  training::Device device;
  Rational peakGflops;
  Rational gflops;  ///< of the peak, what is reached
  Rational memory;
  bool mayRecompute = false;
};

struct TrainingRequest {
  training::Device device;
  Rational peakGflops;
  training::StepDemand demand;
  training::LayoutLimits limits = {};   ///< of --plan
  std::optional<Rational> tokens = {};  ///< of a whole training
  training::TimelineOptions timeline = {};
};

/// Model, GPU, batch, sequence, memory, efficiency, recomputation, sizes of axes, and tokens of a training.
[[nodiscard]] const std::vector<Option>& trainingOptions();

/// @param values  of trainingOptions()  @param names  of a fabric (fabric::namesOf), which tell the GPU where the
/// option leaves it open: of several kinds the slowest, for which the others wait; of none the H100. Errors: badUsage
/// naming the option.
[[nodiscard]] Result<TrainingMachine> readTrainingMachine(const OptionValues& values, std::string_view names);

/// @param names  as above  Without a batch, a step has about 4 million tokens; without a sequence, its length is 8192.
/// Errors: badUsage naming the option; those of io::readModelConfig.
[[nodiscard]] Result<TrainingRequest> readTraining(const Values& given, std::string_view names = {});

}  // namespace coppice::workflow
