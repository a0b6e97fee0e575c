// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "base/text.hpp"
#include "baselines/baselines.hpp"
#include "command.hpp"
#include "facts_text.hpp"
#include "generate.hpp"
#include "input.hpp"

namespace coppice::cli {
namespace {

Report listBaselines() {
  Report report;
  report.json["baselines"] = Json::array();
  for (const baselines::Baseline& baseline : baselines::list()) {
    Json collectives = Json::array();
    std::string names;
    for (const Collective collective : baseline.collectives) {
      collectives.push_back(toString(collective));
      names += (names.empty() ? "" : ", ") + std::string(toString(collective));
    }
    report.json["baselines"].push_back({{"name", baseline.name},
                                        {"title", baseline.title},
                                        {"about", baseline.about},
                                        {"collectives", std::move(collectives)}});
    std::string name(baseline.name);
    name.resize(std::max<std::size_t>(name.size(), 20), ' ');
    report.text += name + " " + std::string(baseline.about) + "\n" + std::string(21, ' ') + names + "\n";
  }
  return report;
}

Result<Report> runBaseline(GenerateOptions options, bool json, const Progress& progress) {
  if (options.method == "list") {
    return listBaselines();
  }
  if (baselines::find(options.method) == nullptr) {
    std::string names;
    for (const baselines::Baseline& baseline : baselines::list()) {
      names += (names.empty() ? "" : ", ") + std::string(baseline.name);
    }
    return Error{ErrorCode::badUsage, "There is no baseline " + inQuotes(options.method), "choose one of " + names};
  }
  if (options.fabric.source.empty()) {
    return Error{ErrorCode::badUsage, "no fabric is given",
                 "name one after the baseline, for example baseline " + options.method + " preset:dgx-a100,boxes=2"};
  }
  const auto collective = parseCollective(options.demand.collective);
  if (collective && isRooted(*collective) && options.demand.root.empty()) {
    options.demand.root = "0";
  }
  auto report = runGenerate(options, json, progress);
  if (report) {
    report->json["baseline"] = options.method;
  }
  return report;
}

/// A command that is short for `generate --method`. The options are kept as long as the command.
std::shared_ptr<GenerateOptions> addAlias(CLI::App& sub, Invocation& invocation,
                                          Result<Report> (*run)(GenerateOptions, bool, const Progress&)) {
  auto options = std::make_shared<GenerateOptions>();
  options->isOwnCommand = true;
  sub.callback([options, run, &invocation] {
    invocation.action = [options, run, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
  return options;
}

}  // namespace

void addAlltoall(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(app, invocation, "alltoall",
                                "Find the largest rate at which all GPUs can send to all others at once, with routes",
                                "  coppice-cli alltoall examples/2x-dgx-a100.fabric.json\n"
                                "  coppice-cli alltoall preset:torus,dims=4x6 --json\n"
                                "  coppice-cli alltoall preset:mi250,boxes=2 -o alltoall.schedule.json");
  const auto options = addAlias(sub, invocation, [](GenerateOptions given, bool json, const Progress& progress) {
    auto report = runGenerate(given, json, progress);
    if (report) {
      const Json seconds = report->json["seconds"]["total"];
      report->json["seconds"] = seconds;
    }
    return report;
  });
  options->method = "alltoall";
  options->demand.collective = "alltoall";
  options->needsSchedule = false;
  addFabricOptions(sub, options->fabric);
  addOptions(sub, workflow::findMethod(options->method)->options, options->values);
  sub.add_option("-o,--output", options->output, "Write the routes as a schedule to this file; - for standard output");
}

void addBaseline(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "baseline", "Generate a schedule that is in use today, verified, with its exact throughput",
      "  coppice-cli baseline list\n"
      "  coppice-cli baseline multi-ring examples/2x-dgx-a100.fabric.json\n"
      "  coppice-cli baseline pairwise preset:dgx-h100 -c alltoall -o pairwise.schedule.json\n"
      "  coppice-cli baseline double-binary-tree preset:mi250,boxes=2 -c allreduce --json");
  const auto options = addAlias(sub, invocation, runBaseline);
  sub.add_option("name", options->method, "Name of the baseline; list for all")->required();
  addFabricOptions(sub, options->fabric);
  sub.get_option("fabric")->required(false);
  sub.add_option("-c,--collective", options->demand.collective,
                 "allgather, reduce_scatter, allreduce, broadcast, reduce, alltoall, gather or scatter")
      ->capture_default_str();
  sub.add_option("--root", options->demand.root, "Id or rank of the root of a rooted collective; default: rank 0");
  sub.add_option("-o,--output", options->output, "Write the schedule to this file; - for standard output");
}

void addBfb(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "bfb", "Generate a breadth-first broadcast schedule for directly linked GPUs, with exact loads",
      "  coppice-cli bfb preset:torus,dims=4x4\n"
      "  coppice-cli bfb preset:hypercube,dimension=6 -c allreduce --chunks 2 --json\n"
      "  coppice-cli bfb preset:dgx-a100,boxes=2 --through-switches -o bfb.schedule.json\n"
      "  coppice-cli bfb preset:hypercube,dimension=6 -o bfb.forest.json\n"
      "  coppice-cli bfb preset:circulant,nodes=100000,jumps=223,224 --json");
  const auto options = addAlias(sub, invocation, [](GenerateOptions given, bool json, const Progress& progress) {
    // What is said is said of the steps; trees are written.
    given.writesTrees = given.values.erase("trees") > 0;
    return runGenerate(given, json, progress);
  });
  options->method = "bfb";
  addFabricOptions(sub, options->fabric);
  addDemandOptions(sub, options->demand);
  addOptions(sub, workflow::findMethod(options->method)->options, options->values);
  addStepOptions(sub, *options);
  sub.add_option("-o,--output", options->output,
                 "Write the schedule to this file, with the name ending in .forest.json as trees; - for "
                 "standard output");
}

}  // namespace coppice::cli
