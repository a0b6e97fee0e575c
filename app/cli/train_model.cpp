// SPDX-License-Identifier: Apache-2.0
#include "train_model.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "fabric/likely_gpu.hpp"
#include "text.hpp"
#include "train_front.hpp"
#include "workflow/clock.hpp"
#include "workflow/step_unit.hpp"
#include "workflow/training_job.hpp"
#include "workflow/training_words.hpp"

namespace coppice::cli {
namespace {

using training::Cost;
using training::Plan;
using training::Problem;

/// A plan for the whole model.
struct Step {
  const Plan* plan = nullptr;
  Cost cost;
  [[nodiscard]] Rational overlapped() const { return std::max(cost.compute, cost.communication); }
};

const training::Strategy& strategyOf(const Problem& problem, const Plan& plan, const std::string& name) {
  const auto found = std::find_if(problem.nodes.begin(), problem.nodes.end(),
                                  [&](const training::Node& node) { return node.name == name; });
  return plan.strategies[static_cast<std::size_t>(found - problem.nodes.begin())];
}

/// What an axis does, in the words that people use, as the first product of the feed-forward part shows it.
std::string wordsOf(const Problem& problem, const Plan& plan, std::size_t axis) {
  const auto nameOf = [&](training::Dim dim) { return dim >= 0 ? problem.dims[dim].name : std::string(); };
  const training::Strategy& product = strategyOf(problem, plan, "u");
  const bool isStored = strategyOf(problem, plan, "w1").output[axis] >= 0;
  const std::string used = nameOf(product.inputs[1][axis]);
  const std::string made = nameOf(product.output[axis]);
  const std::string kept = nameOf(strategyOf(problem, plan, "x").output[axis]);
  if (used == "f" || used == "h") {
    return "tensor parallel" + std::string(kept == "s" ? ", with sequence parallel" : "");
  }
  if (made == "b" || made == "s") {
    return std::string(made == "b" ? "data parallel" : "context parallel") +
           (isStored ? ", weights divided (FSDP, ZeRO-3)" : "");
  }
  return "no division of the feed-forward part";
}

}  // namespace

Result<ModelRequest> readModelRequest(const ModelOptions& options, const FabricOptions& source,
                                      const Progress& progress) {
  auto loaded = loadFabric(source, progress);
  if (!loaded) {
    return loaded.error();
  }
  auto training = workflow::readTraining(options.values, fabric::namesOf(loaded->fabric));
  return training ? Result(ModelRequest{*std::move(loaded), *std::move(training)}) : training.error();
}

Result<Report> trainModel(const ModelOptions& options, const FabricOptions& source, const Progress& progress) {
  const auto request = readModelRequest(options, source, progress);
  if (!request) {
    return request.error();
  }
  const LoadedFabric* loaded = &request->loaded;
  const fabric::Fabric& fabric = loaded->fabric;
  const training::StepDemand& demand = request->training.demand;
  const training::Model* model = &demand.model;
  const training::Job& job = demand.job;
  const Rational& gflops = demand.gflops;
  workflow::Clock clock;
  const auto priced = workflow::priceMesh(fabric, options.mesh, progress);
  if (!priced) {
    return priced.error();
  }
  std::vector<training::Axis> mesh;
  for (const workflow::PricedAxis& axis : *priced) {
    mesh.push_back(axis.axis);
  }
  const auto block = training::blockOf(*model, job, mesh, gflops);
  if (!block) {
    return block.error();
  }
  const Problem& problem = *block;
  const auto front = training::findFront(problem, {}, progress);
  if (!front) {
    return front.error();
  }
  const double seconds = clock.lap();
  const Cost outer = training::outerCost(*model, job, fabric.gpuCount(), gflops);
  std::vector<Step> steps;
  for (const Plan& plan : front->plans) {
    const Rational layers(model->blockLayers());
    steps.push_back({&plan,
                     {plan.cost.compute * layers + outer.compute, plan.cost.communication * layers,
                      plan.cost.memory * layers + outer.memory}});
  }
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
    return std::pair(a.overlapped(), a.cost.memory) < std::pair(b.overlapped(), b.cost.memory);
  });
  const Rational& memory = demand.memory;
  const auto best =
      std::find_if(steps.begin(), steps.end(), [&](const Step& step) { return step.cost.memory <= memory; });

  Report report;
  Json& json = report.json;
  json["fabric"] = fabric.name();
  json["model"] = model->name;
  json["parameters"] = model->parameters().toString();
  json["active_parameters"] = model->activeParameters().toString();
  json["gpu"] = std::string(request->training.device.name);
  json["batch"] = job.batch;
  json["sequence"] = job.sequence;
  json["mesh"] = Json::array();
  for (const workflow::PricedAxis& axis : *priced) {
    Json each = {{"size", axis.axis.size}, {"exact", axis.isExact}};
    for (std::size_t c = 0; c < training::kConversions; ++c) {
      each[std::string(toString(workflow::collectiveOf(static_cast<training::Conversion>(c))))] =
          axis.axis.rates[c].toString();
    }
    json["mesh"].push_back(std::move(each));
  }
  const auto jsonOf = [&](const Step& step) {
    const workflow::StepFigures figures = workflow::figuresOf(request->training, fabric.gpuCount(), step.overlapped());
    return Json{
        {"compute", step.cost.compute.toString()},
        {"communication", step.cost.communication.toString()},
        {"memory", step.cost.memory.toString()},
        {"step_ms", (step.overlapped() / Rational(1'000'000)).toDouble()},
        {"step_without_overlap_ms", ((step.cost.compute + step.cost.communication) / Rational(1'000'000)).toDouble()},
        {"tokens_per_second", figures.tokensPerSecond.toDouble()},
        {"mfu", figures.utilization.toDouble()},
        {"fits", step.cost.memory <= memory}};
  };
  json["front"] = Json::array();
  for (const Step& step : steps) {
    json["front"].push_back(jsonOf(step));
  }
  json["exact"] = front->isExact();
  json["seconds"] = seconds;

  const auto column = [](std::string value, std::size_t width) {
    value.resize(std::max(value.size(), width), ' ');
    return value;
  };
  const workflow::StepUnit unit = workflow::stepUnit(steps.front().overlapped().toDouble());
  std::string& text = report.text;
  text = named(model->name) + ", " + parametersText(*model) + ", on " + counted(fabric.gpuCount(), "GPU") + " (" +
         std::string(request->training.device.title) + ") as " + options.mesh + "; a step has " +
         std::to_string(job.batch) + " sequences of " + std::to_string(job.sequence) + " tokens\n";
  text += counted(steps.size(), "plan") +
          (front->isExact() ? " that no other is as good as" : " found; others may be better") + "\n" + "     " +
          column("step " + std::string(unit.name), 12) + "compute     communication  without overlap  memory GB\n";
  constexpr std::size_t kMaxRows = 15;
  for (std::size_t i = 0; i < std::min(steps.size(), kMaxRows); ++i) {
    const Step& step = steps[i];
    const bool isBest = best != steps.end() && &step == &*best;
    text += std::string(isBest ? "  *  " : "     ") + column(unit.text(step.overlapped()), 12) +
            column(unit.text(step.cost.compute), 12) + column(unit.text(step.cost.communication), 15) +
            column(unit.text(step.cost.compute + step.cost.communication), 17) +
            toDecimal(step.cost.memory / Rational(1'000'000'000), 2) + (step.cost.memory <= memory ? "" : " too much") +
            "\n";
  }
  if (steps.size() > kMaxRows) {
    text += "     and " + std::to_string(steps.size() - kMaxRows) + " more; --json lists all\n";
  }
  if (best == steps.end()) {
    report.failure = "no plan fits into the " + toDecimal(memory / Rational(1'000'000'000), 0) + " GB of a GPU";
    json["best"] = nullptr;
    return report;
  }
  json["best"] = jsonOf(*best);
  json["best"]["axes"] = Json::array();
  const workflow::StepFigures figures = workflow::figuresOf(request->training, fabric.gpuCount(), best->overlapped());
  text += "  best        at most " + toDecimal(figures.tokensPerSecond, 0) + " tokens/s, " +
          percent(figures.utilization) +
          " of the peak (MFU), if computation and "
          "communication overlap\n";
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    const std::string words = wordsOf(problem, *best->plan, axis);
    json["best"]["axes"].push_back({{"size", mesh[axis].size}, {"use", words}});
    text += "  axis " + std::to_string(axis) + "      " + counted(mesh[axis].size, "GPU") + ": " + words + "\n";
  }
  json["best"]["conversions"] = Json::array();
  const auto times = workflow::conversionTimes(problem, *best->plan);
  text += "  limited by  " +
          std::string(best->cost.compute >= best->cost.communication ? "computation" : "communication") + "\n";
  for (const workflow::ConversionTime& each : times) {
    const auto conversion = static_cast<std::size_t>(each.conversion);
    const std::string name(toString(workflow::collectiveOf(each.conversion)));
    const workflow::PricedAxis& axis = (*priced)[each.axis];
    json["best"]["conversions"].push_back(
        {{"axis", each.axis}, {"collective", name}, {"time", (each.time * Rational(model->blockLayers())).toString()}});
    text += "              " + workflow::stepTime(each.time * Rational(model->blockLayers())) + " " + name +
            " on axis " + std::to_string(each.axis) + " at " +
            gigabytes(workflow::algbwOf(each.conversion, axis.axis.rates[conversion], axis.axis.size)) + ": " +
            workflow::cutWords(fabric, axis.cuts[conversion]) + "\n";
  }
  text += "  not in it   norms, biases, latencies, the communication of embedding and output, pipelines\n" +
          lines(loaded->findings) + "  time        " + duration(seconds) + "\n";
  return report;
}

}  // namespace coppice::cli
