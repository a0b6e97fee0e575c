// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/fx_graph.hpp"
#include "workflow/training_job.hpp"
#include "workflow/training_request.hpp"

/// A step whose graph is given: one that torch wrote, on the GPUs of a fabric, or a problem with a mesh of its own.
namespace coppice::workflow {

struct GraphRequest {
  std::string file;
  TrainingMachine machine;
  io::FxProblem graph;                  ///< of a problem with a mesh nothing else
  std::optional<Rational> memory = {};  ///< bytes of a GPU that plans have to fit into
  [[nodiscard]] bool hasMesh() const { return !graph.problem.mesh.empty(); }
};

/// Whether the model that is asked for is a file with a graph: the text of torch.fx, or a training problem. What cannot
/// be read is none.
[[nodiscard]] bool asksForGraph(const Values& given);
/// Errors: badUsage naming the option, also where an option is of a model alone; those of io::readFxGraph and
/// io::readTrainingProblem.
[[nodiscard]] Result<GraphRequest> readTrainingGraph(const Values& given, std::string_view names = {});

struct MeshAnswer {
  std::string mesh;  ///< "16x8"
  /// A problem brings its rates, and no cuts.
  std::vector<PricedAxis> axes;
  training::Problem problem;
  training::Front front;
  std::optional<std::size_t> best;  ///< the shortest step of the plans that fit into the memory

  [[nodiscard]] const training::Cost& cost() const { return front.plans[*best].cost; }
  [[nodiscard]] Rational step() const { return std::max(cost().compute, cost().communication); }
};
/// The mesh, or without one all meshes of one and two axes; those with a plan that fits first, the fastest first. The
/// one mesh of a problem that has its own.
/// Errors: badUsage naming --mesh where there is one already; those of priceMesh and training::findFront.
[[nodiscard]] Result<std::vector<MeshAnswer>> searchGraph(const fabric::Fabric& fabric, const GraphRequest& request,
                                                          const std::string& mesh, const Progress& progress);
/// "no plan fits into the 80000 MB of a GPU". @pre no answer has a best plan, so that there is a memory to fit into
[[nodiscard]] std::string noPlanWords(const GraphRequest& request);

/// Of one axis of a mesh: the first group's ranks.
[[nodiscard]] std::vector<fabric::Rank> firstGroupOf(const std::vector<PricedAxis>& axes, std::size_t axis);
/// "b,R": axis by axis the dimension that divides the tensor, R (replicated) or P (partial sums).
[[nodiscard]] std::string stateText(const training::Problem& problem, const training::State& state);
/// Inputs that a node takes in another state than they were made in: "x: b,R -> R,R; ", "" = none.
[[nodiscard]] std::string conversionText(const training::Problem& problem, const training::Plan& plan, int node);

}  // namespace coppice::workflow
