// SPDX-License-Identifier: Apache-2.0
#include "workflow/training_graph.hpp"

#include <algorithm>
#include <tuple>

#include "io/fx_text.hpp"
#include "io/training_json.hpp"
#include "workflow/request.hpp"

namespace coppice::workflow {
namespace {

/// One axis, and two of any sizes.
std::vector<std::string> meshesOf(std::int64_t gpus) {
  std::vector<std::string> meshes{std::to_string(gpus)};
  for (std::int64_t size = 2; size < gpus; ++size) {
    if (gpus % size == 0) {
      meshes.push_back(std::to_string(gpus / size) + "x" + std::to_string(size));
    }
  }
  return meshes;
}

/// On its own mesh, if it has one, or on this one.
Result<MeshAnswer> searchMesh(const fabric::Fabric& fabric, const GraphRequest& request, const std::string& mesh,
                              const Progress& progress) {
  MeshAnswer answer{mesh, {}, request.graph.problem, {}, {}};
  for (const training::Axis& axis : request.graph.problem.mesh) {
    answer.mesh += (answer.mesh.empty() ? "" : "x") + std::to_string(axis.size);
    answer.axes.push_back({.axis = axis});
  }
  if (!request.hasMesh()) {
    auto axes = priceMesh(fabric, mesh, progress);
    if (!axes) {
      return axes.error();
    }
    answer.axes = *std::move(axes);
    for (const PricedAxis& axis : answer.axes) {
      answer.problem.mesh.push_back(axis.axis);
    }
    answer.problem.gflops = request.machine.gflops;
  }
  auto front = training::findFront(answer.problem, {}, progress);
  if (!front) {
    return front.error();
  }
  answer.front = *std::move(front);
  const auto order = [&](std::size_t i) {
    const training::Cost& cost = answer.front.plans[i].cost;
    return std::tuple(std::max(cost.compute, cost.communication), cost.compute + cost.communication, cost.memory);
  };
  for (std::size_t i = 0; i < answer.front.plans.size(); ++i) {
    const bool fits = !request.memory || answer.front.plans[i].cost.memory <= *request.memory;
    if (fits && (!answer.best || order(i) < order(*answer.best))) {
      answer.best = i;
    }
  }
  return answer;
}

}  // namespace

bool asksForGraph(const Values& given) {
  const auto found = given.find("model");
  if (found == given.end() ||
      std::any_of(training::modelPresets().begin(), training::modelPresets().end(),
                  [&](const training::ModelPreset& preset) { return preset.model.name == found->second; })) {
    return false;
  }
  const auto text = readText(found->second, {});
  return text && (io::fx::isFxText(*text) || io::isTrainingProblem(*text));
}

Result<GraphRequest> readTrainingGraph(const Values& given, std::string_view names) {
  const auto values = OptionValues::read(trainingOptions(), given);
  if (!values) {
    return values.error();
  }
  for (const char* name : {"batch", "sequence", "plan", "tokens", "bucket", "no-prefetch"}) {
    if (given.contains(name)) {
      return optionError(name, "a graph has its own sizes, and is one step", "leave it out");
    }
  }
  auto machine = readTrainingMachine(*values, names);
  if (!machine) {
    return machine.error();
  }
  const std::string file = values->text("model");
  const auto text = readText(file, {});
  if (!text) {
    return text.error();
  }
  GraphRequest request{file, *std::move(machine), {}};
  if (io::fx::isFxText(*text)) {
    auto graph = io::readFxGraph(*text, file, {.mayRecompute = request.machine.mayRecompute});
    if (!graph) {
      return graph.error();
    }
    request.graph = *std::move(graph);
    request.memory = request.machine.memory;
    return request;
  }
  for (const char* name : {"gpu", "precision", "efficiency", "recompute"}) {
    if (given.contains(name)) {
      return optionError(name, "a problem has its own mesh and rates", "leave it out");
    }
  }
  auto problem = io::readTrainingProblem(*text, file);
  if (!problem) {
    return problem.error();
  }
  request.graph.problem = *std::move(problem);
  if (given.contains("memory")) {
    request.memory = request.machine.memory;
  }
  return request;
}

Result<std::vector<MeshAnswer>> searchGraph(const fabric::Fabric& fabric, const GraphRequest& request,
                                            const std::string& mesh, const Progress& progress) {
  if (request.hasMesh() && !mesh.empty()) {
    return optionError("mesh", "a problem has its own mesh", "leave it out");
  }
  const std::vector<std::string> meshes =
      mesh.empty() && !request.hasMesh() ? meshesOf(fabric.gpuCount()) : std::vector{mesh};
  std::vector<MeshAnswer> answers;
  for (std::size_t i = 0; i < meshes.size(); ++i) {
    progress.report("training", static_cast<double>(i) / static_cast<double>(meshes.size()));
    const Progress quiet{.onReport = {}, .stop = progress.stop, .work = progress.work};
    auto answer = searchMesh(fabric, request, meshes[i], meshes.size() > 1 ? quiet : progress);
    if (answer) {
      answers.push_back(*std::move(answer));
    } else if (meshes.size() == 1 || answer.error().code != ErrorCode::infeasible) {
      return answer.error();
    }
  }
  if (answers.empty()) {
    return Error{ErrorCode::infeasible, "no mesh of the GPUs has a plan", "give --mesh"};
  }
  std::stable_sort(answers.begin(), answers.end(), [](const MeshAnswer& a, const MeshAnswer& b) {
    return a.best && (!b.best || std::tuple(a.step(), a.cost().compute + a.cost().communication, a.cost().memory) <
                                     std::tuple(b.step(), b.cost().compute + b.cost().communication, b.cost().memory));
  });
  return answers;
}

std::string noPlanWords(const GraphRequest& request) {
  return "no plan fits into the " + toDecimal(request.memory.value_or(0) / Rational(1'000'000), 3) + " MB of a GPU";
}

std::vector<fabric::Rank> firstGroupOf(const std::vector<PricedAxis>& axes, std::size_t axis) {
  std::int64_t stride = 1;
  for (std::size_t i = axis + 1; i < axes.size(); ++i) {
    stride *= axes[i].axis.size;
  }
  std::vector<fabric::Rank> ranks;
  for (std::int64_t i = 0; i < axes[axis].axis.size; ++i) {
    ranks.push_back(static_cast<fabric::Rank>(i * stride));
  }
  return ranks;
}

std::string stateText(const training::Problem& problem, const training::State& state) {
  std::string text;
  for (const training::Dim dim : state) {
    text += text.empty() ? "" : ",";
    text += dim >= 0 ? problem.dims[dim].name : dim == training::kPartial ? "P" : "R";
  }
  return text;
}

std::string conversionText(const training::Problem& problem, const training::Plan& plan, int node) {
  std::string text;
  const std::vector<int>& inputs = problem.nodes[node].inputs;
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    const training::State& from = plan.strategies[inputs[input]].output;
    const training::State& to = plan.strategies[node].inputs[input];
    if (from != to) {
      text +=
          problem.nodes[inputs[input]].name + ": " + stateText(problem, from) + " -> " + stateText(problem, to) + "; ";
    }
  }
  return text;
}

}  // namespace coppice::workflow
