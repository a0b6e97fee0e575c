// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "command.hpp"
#include "input.hpp"
#include "io/training_json.hpp"
#include "text.hpp"
#include "train_model.hpp"
#include "training/search.hpp"
#include "workflow/clock.hpp"

namespace coppice::cli {
namespace {

using training::Problem;
using training::State;

/// "R", "P" or the dimension, axis by axis: "b,R".
std::string stateText(const Problem& problem, const State& state) {
  std::string text;
  for (const training::Dim dim : state) {
    text += text.empty() ? "" : ",";
    text += dim >= 0 ? problem.dims[dim].name : dim == training::kPartial ? "P" : "R";
  }
  return text;
}

Json stateJson(const Problem& problem, const State& state) {
  Json json = Json::array();
  for (const training::Dim dim : state) {
    json.push_back(dim >= 0 ? problem.dims[dim].name : dim == training::kPartial ? "P" : "R");
  }
  return json;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

/// Of the plan with the shortest step, which is max(compute, communication).
std::size_t fastest(const training::Front& front) {
  std::size_t best = 0;
  const auto step = [&](std::size_t i) {
    return std::max(front.plans[i].cost.compute, front.plans[i].cost.communication);
  };
  for (std::size_t i = 1; i < front.plans.size(); ++i) {
    best = step(i) < step(best) ? i : best;
  }
  return best;
}

std::string frontText(const Problem& problem, const training::Front& front, double seconds) {
  constexpr std::size_t kMaxRows = 40;
  const std::size_t best = fastest(front);
  std::string text = counted(front.plans.size(), "plan") +
                     " that no other is as good as in compute, communication and memory" +
                     (front.isPartial ? ", of those that were found: the search was out of work, others may be better\n"
                      : front.isThinned ? " (within 0.1 %)\n"
                                        : "\n") +
                     "     compute µs       communication µs  memory MB\n";
  for (std::size_t i = 0; i < std::min(front.plans.size(), kMaxRows); ++i) {
    const training::Cost& cost = front.plans[i].cost;
    text += std::string(i == best ? "  *  " : "     ") + padded(toDecimal(cost.compute / Rational(1000), 3), 17) +
            padded(toDecimal(cost.communication / Rational(1000), 3), 18) +
            toDecimal(cost.memory / Rational(1'000'000), 3) + "\n";
  }
  if (front.plans.size() > kMaxRows) {
    text += "     and " + std::to_string(front.plans.size() - kMaxRows) + " more; --json lists all\n";
  }
  const training::Plan& plan = front.plans[best];
  text += "  * the shortest step, if computation and communication overlap: " +
          toDecimal(std::max(plan.cost.compute, plan.cost.communication) / Rational(1000), 3) + " µs, limited by " +
          (plan.cost.compute >= plan.cost.communication ? "computation" : "communication") + "\n";
  for (std::size_t i = 0; i < plan.strategies.size(); ++i) {
    const training::Strategy& strategy = plan.strategies[i];
    const training::Node& node = problem.nodes[i];
    std::string line = "     " + padded(node.name, 12) + padded(stateText(problem, strategy.output), 12);
    for (std::size_t input = 0; input < node.inputs.size(); ++input) {
      const State& from = plan.strategies[node.inputs[input]].output;
      if (from != strategy.inputs[input]) {
        line += " " + problem.nodes[node.inputs[input]].name + ": " + stateText(problem, from) + " -> " +
                stateText(problem, strategy.inputs[input]) + ";";
      }
    }
    text += line + (strategy.isDropped ? " computed again" : "") + "\n";
  }
  return text + "  time        " + duration(seconds) + "\n";
}

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
  report.json["front"] = Json::array();
  for (const training::Plan& plan : front->plans) {
    Json each = {{"compute", plan.cost.compute.toString()},
                 {"communication", plan.cost.communication.toString()},
                 {"memory", plan.cost.memory.toString()}};
    if (options.plans) {
      each["nodes"] = Json::object();
      for (std::size_t i = 0; i < plan.strategies.size(); ++i) {
        Json node = {{"state", stateJson(*problem, plan.strategies[i].output)}, {"inputs", Json::array()}};
        for (const State& state : plan.strategies[i].inputs) {
          node["inputs"].push_back(stateJson(*problem, state));
        }
        if (plan.strategies[i].isDropped) {
          node["again"] = true;
        }
        each["nodes"][problem->nodes[i].name] = std::move(node);
      }
    }
    report.json["front"].push_back(std::move(each));
  }
  report.json["exact"] = front->isExact();
  report.json["seconds"] = seconds;
  if (!json) {
    report.text = frontText(*problem, *front, seconds);
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
  sub.add_option("--problem", options->problem,
                 "Graph, mesh and rates instead (resources/schema/training.schema.json); - for standard input")
      ->excludes(trace);
  sub.add_flag("--plans", options->plans, "With --json: the states of all tensors of each plan");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
