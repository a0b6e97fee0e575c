// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/fx_graph.hpp"
#include "workflow/training_job.hpp"
#include "workflow/training_request.hpp"

/// A step whose graph torch wrote, on the GPUs of a fabric.
namespace coppice::workflow {

struct GraphRequest {
  std::string file;
  TrainingMachine machine;
  io::FxProblem graph;
};

/// Whether the model that is asked for is the text of a graph. Errors: io.
[[nodiscard]] Result<bool> asksForGraph(const Values& given);
/// Errors: badUsage naming the option, also where an option is of a model alone; those of io::readFxGraph.
[[nodiscard]] Result<GraphRequest> readTrainingGraph(const Values& given);

struct MeshAnswer {
  std::string mesh;  ///< "16x8"
  std::vector<PricedAxis> axes;
  training::Problem problem;
  training::Front front;
  std::optional<std::size_t> best;  ///< the shortest step of the plans that fit into the memory

  [[nodiscard]] const training::Cost& cost() const { return front.plans[*best].cost; }
  [[nodiscard]] Rational step() const { return std::max(cost().compute, cost().communication); }
};
/// The mesh, or without one all meshes of one and two axes; those with a plan that fits first, the fastest first.
/// Errors: those of priceMesh and training::findFront.
[[nodiscard]] Result<std::vector<MeshAnswer>> searchGraph(const fabric::Fabric& fabric, const GraphRequest& request,
                                                          const std::string& mesh, const Progress& progress);

}  // namespace coppice::workflow
