// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "io/taccl_json.hpp"
#include "sketch/fabric_of.hpp"
#include "sketch/make_model.hpp"
#include "sketch/plan.hpp"
#include "sketch/propose.hpp"
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

/// Reads a sketch. Errors: io, badInput with file and key.
[[nodiscard]] Result<io::TacclFile<sketch::Sketch>> loadSketchFile(const std::string& path);

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

/// The same on a given fabric. @param routes by link of the model
[[nodiscard]] Result<JudgedPlan> judgePlan(const sketch::Model& model, taccl::Synthesis synthesis, LoadedFabric fabric,
                                           const std::vector<std::vector<fabric::NodeIndex>>& routes,
                                           const Progress& progress);

/// (makespan - bound) / makespan
[[nodiscard]] double gapOf(const sketch::Plan& plan);

/// A sketch on the fabric that a person has drawn, with the size of the data.
struct FittedSketch {
  LoadedFabric fabric;
  sketch::Proposal fit;
  std::int64_t chunkBytes = 0;
  /// By symmetry offset of the sketch: what it does not keep (sketch::differenceUnder); empty = it is a symmetry.
  std::vector<std::string> differences = {};
};

/// What each GPU has where a sketch names no size.
inline constexpr std::int64_t kSketchBytes = 1 << 20;

/// The bytes of a chunk by "input_size" (kSketchBytes where absent) and "input_chunkup". Errors: badInput naming the
/// key.
[[nodiscard]] Result<std::int64_t> chunkBytesOf(const sketch::Sketch& sketch);

/// The sketch that the fabric was made of (io::TacclOrigin) where it fits; else one that the program proposes, with
/// this number of chunks (0 = as many as suit the links). Errors: those of Fabric::build and sketch::propose.
[[nodiscard]] Result<FittedSketch> proposeSketch(const fabric::Description& facts, const sketch::Sketch& sizes);
/// A given one. Errors: those of Fabric::build, chunkBytesOf and sketch::fit.
[[nodiscard]] Result<FittedSketch> fitSketch(const fabric::Description& facts, const sketch::Sketch& sketch);

}  // namespace coppice::workflow
