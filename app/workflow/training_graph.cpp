// SPDX-License-Identifier: Apache-2.0
#include "workflow/training_graph.hpp"

#include <algorithm>
#include <tuple>

#include "io/fx_text.hpp"
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

Result<MeshAnswer> searchMesh(const fabric::Fabric& fabric, const GraphRequest& request, const std::string& mesh,
                              const Progress& progress) {
  auto axes = priceMesh(fabric, mesh, progress);
  if (!axes) {
    return axes.error();
  }
  MeshAnswer answer{mesh, *std::move(axes), request.graph.problem, {}, {}};
  for (const PricedAxis& axis : answer.axes) {
    answer.problem.mesh.push_back(axis.axis);
  }
  answer.problem.gflops = request.machine.gflops;
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
    const bool fits = answer.front.plans[i].cost.memory <= request.machine.memory;
    if (fits && (!answer.best || order(i) < order(*answer.best))) {
      answer.best = i;
    }
  }
  return answer;
}

}  // namespace

Result<bool> asksForGraph(const Values& given) {
  const auto found = given.find("model");
  if (found == given.end() || found->second.ends_with(".json") ||
      std::any_of(training::modelPresets().begin(), training::modelPresets().end(),
                  [&](const training::ModelPreset& preset) { return preset.model.name == found->second; })) {
    return false;
  }
  const auto text = readText(found->second, {});
  return text && io::fx::isFxText(*text);
}

Result<GraphRequest> readTrainingGraph(const Values& given) {
  const auto values = OptionValues::read(trainingOptions(), given);
  if (!values) {
    return values.error();
  }
  for (const char* name : {"batch", "sequence", "plan", "tokens", "bucket", "no-prefetch"}) {
    if (given.contains(name)) {
      return optionError(name, "a graph of torch.fx has its own sizes, and is one step", "leave it out");
    }
  }
  auto machine = readTrainingMachine(*values);
  if (!machine) {
    return machine.error();
  }
  const std::string file = values->text("model");
  const auto text = readText(file, {});
  if (!text) {
    return text.error();
  }
  auto graph = io::readFxGraph(*text, file, {.mayRecompute = machine->mayRecompute});
  if (!graph) {
    return graph.error();
  }
  return GraphRequest{file, *std::move(machine), *std::move(graph)};
}

Result<std::vector<MeshAnswer>> searchGraph(const fabric::Fabric& fabric, const GraphRequest& request,
                                            const std::string& mesh, const Progress& progress) {
  const std::vector<std::string> meshes = mesh.empty() ? meshesOf(fabric.gpuCount()) : std::vector{mesh};
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

}  // namespace coppice::workflow
