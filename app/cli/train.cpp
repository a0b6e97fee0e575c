// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "command.hpp"
#include "input.hpp"
#include "io/fx_text.hpp"
#include "io/training_json.hpp"
#include "text.hpp"
#include "train_front.hpp"
#include "train_model.hpp"
#include "training/search.hpp"
#include "workflow/clock.hpp"
#include "workflow/training_graph.hpp"

namespace coppice::cli {
namespace {

struct TrainOptions {
  std::string problem;
  FabricOptions fabric;
  ModelOptions model;
  bool plans = false;
};

Result<Report> run(const TrainOptions& options, bool json, const Progress& progress) {
  if (options.problem.empty()) {
    const bool isWhole = !options.fabric.source.empty() && options.model.values.contains("model");
    if (!isWhole) {
      return Error{ErrorCode::badUsage, "there is neither a problem nor a fabric with a model",
                   "give --problem FILE, or a fabric with --model"};
    }
    if (workflow::asksForGraph(options.model.values)) {
      return trainGraph(options.model, options.fabric, options.plans, progress);
    }
    return options.model.mesh.empty() ? trainChoice(options.model, options.fabric, progress)
                                      : trainModel(options.model, options.fabric, progress);
  }
  if (!options.fabric.source.empty()) {
    return workflow::optionError("problem", "a problem has its own mesh, and needs no fabric", "leave one of both out");
  }
  const auto text = readText(options.problem);
  if (!text) {
    return text.error();
  }
  if (io::fx::isFxText(*text)) {
    return showGraph(*text, inputName(options.problem));
  }
  const auto problem = io::readTrainingProblem(*text, inputName(options.problem));
  if (!problem) {
    return problem.error();
  }
  workflow::Clock clock;
  const auto front = training::findFront(*problem, {}, progress);
  if (!front) {
    return front.error();
  }
  const double seconds = clock.lap();
  Report report;
  addFront(*problem, *front, options.plans, report.json);
  report.json["seconds"] = seconds;
  if (!json) {
    report.text = frontText(*problem, *front) + "  time        " + duration(seconds) + "\n";
  }
  return report;
}

}  // namespace

void addTrain(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "train",
      "Find how to divide a training step over a mesh of devices: the exact front of "
      "compute, communication and memory",
      "  coppice-cli train preset:dgx-h100,boxes=16 --model llama-3-70b\n"
      "  coppice-cli train preset:dgx-h100,boxes=16 --model llama-3-70b --plan tp=8,pp=4 -o plan\n"
      "  coppice-cli train preset:dgx-h100,boxes=16 --model llama-3-70b --bucket 100MB --trace step.json\n"
      "  coppice-cli train preset:dgx-h100,boxes=16 --model llama-3-70b --mesh 16x8 \\\n"
      "    --batch 512 --sequence 8192\n"
      "  coppice-cli train preset:dgx-h100,boxes=2 --model graph.txt --mesh 2x8\n"
      "  coppice-cli train --problem graph.txt\n"
      "  coppice-cli train --problem block.json\n"
      "  coppice-cli train --problem block.json --plans --json");
  auto options = std::make_shared<TrainOptions>();
  addFabricOptions(sub, options->fabric);
  sub.get_option("fabric")->required(false);
  addOptions(sub, workflow::trainingOptions(), options->model.values);
  CLI::Option* mesh = sub.add_option("--mesh", options->model.mesh,
                                     "Sizes of the mesh of all GPUs in rank order, the last axis fastest, for example "
                                     "16x8: each axis may divide anything; without it all divisions are tried");
  for (const char* each : {"--plan", "--bucket", "--no-prefetch"}) {
    sub.get_option(each)->excludes(mesh);
  }
  sub.add_option("--compare", options->model.compare, "Another fabric, for the same model; may be given several times")
      ->excludes(mesh);
  sub.add_option("-o,--output", options->model.output,
                 "Folder for the best plan: states of all tensors, flags of Megatron-LM and torchtitan, groups, and a "
                 "verified schedule for each of their collectives")
      ->excludes(mesh);
  CLI::Option* trace =
      sub.add_option("--trace", options->model.trace,
                     "File for the timeline of a step of the best plan, for Perfetto or chrome://tracing")
          ->excludes(mesh);
  sub.add_option(
         "--problem", options->problem,
         "Graph, mesh and rates instead (resources/schema/training.schema.json), or a graph of torch.fx to look "
         "at; - for standard input")
      ->excludes(trace);
  sub.add_flag("--plans", options->plans, "With --json: the states of all tensors of each plan");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
