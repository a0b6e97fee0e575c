// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/duration.hpp"
#include "base/result.hpp"
#include "fabric/description.hpp"
#include "sketch/fabric_of.hpp"
#include "sketch/make_model.hpp"
#include "sketch/propose.hpp"
#include "workflow/sketch_plan.hpp"

/// Between TACCL's files and fabrics.
namespace coppice::workflow {

/// The fabric that a sketch describes on its topology; its file keeps both texts.
struct SketchedFabric {
  LoadedSketch loaded;
  fabric::Description description;
};

/// @param scale absent: guessed from the topology. Errors: those of loadSketch, overflow.
[[nodiscard]] Result<SketchedFabric> fabricOfFiles(const SketchFiles& files, const sketch::ModelOptions& options,
                                                   const std::optional<ExactMicroseconds>& timeUnit);

struct SketchTexts {
  std::string sketch;
  std::string topology;
  bool isOriginal = false;        ///< both as they were when the fabric was made of them
  std::vector<Finding> findings;  ///< a fabric that was changed since
};

/// The files that a fabric was made of where it has not been changed since (a topology without a sketch gets a proposed
/// one), else those of a proposed sketch.
/// Errors: those of Fabric::build and of sketch::propose.
[[nodiscard]] Result<SketchTexts> filesOfFabric(const fabric::Description& description,
                                                const sketch::ProposalOptions& options);

}  // namespace coppice::workflow
