// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "sketch/fabric_of.hpp"
#include "sketch/plan.hpp"
#include "taccl/synthesis.hpp"
#include "workflow/fabric_source.hpp"

/// From a communication sketch to a verified plan and its schedule.
namespace coppice::workflow {

struct SketchFiles {
  std::string sketch;
  std::string topology;
};

/// What two files say together.
struct LoadedSketch {
  sketch::Sketch sketch;
  sketch::Topology topology;
  sketch::ModelResult made;
};

/// Reads and joins both. Errors: io, badInput with file and key, overflow.
[[nodiscard]] Result<LoadedSketch> loadSketch(const SketchFiles& files, const sketch::ModelOptions& options);

/// A plan that has passed verify::checkPlan, and the schedule of it that has passed verify::verifySteps.
struct JudgedPlan {
  taccl::Synthesis synthesis;
  LoadedFabric fabric;
  schedule::StepSchedule schedule;
  double verifying = 0;  ///< seconds
};

/// On the fabric that the model itself describes. Errors: those of taccl::synthesize; verification.
[[nodiscard]] Result<JudgedPlan> judgePlan(const sketch::Model& model, taccl::Synthesis synthesis,
                                           const sketch::Scale& scale, const Progress& progress);

}  // namespace coppice::workflow
