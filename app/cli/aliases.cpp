// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/comma_list.hpp"
#include "base/formatted.hpp"
#include "base/text.hpp"
#include "baselines/baselines.hpp"
#include "command.hpp"
#include "fabric/likely_gpu.hpp"
#include "facts_text.hpp"
#include "generate.hpp"
#include "input.hpp"
#include "text.hpp"
#include "workflow/nccl_bundle.hpp"
#include "workflow/nccl_method.hpp"
#include "workflow/nccl_tuning.hpp"

namespace coppice::cli {
namespace {

void addToList(std::string_view name, std::string_view title, std::string_view about,
               std::span<const Collective> collectives, Report& report) {
  Json list = Json::array();
  std::string names;
  for (const Collective collective : collectives) {
    list.push_back(toString(collective));
    names += (names.empty() ? "" : ", ") + std::string(toString(collective));
  }
  report.json["baselines"].push_back(
      {{"name", name}, {"title", title}, {"about", about}, {"collectives", std::move(list)}});
  std::string padded(name);
  padded.resize(std::max<std::size_t>(padded.size(), 20), ' ');
  report.text += padded + " " + std::string(about) + "\n" + std::string(21, ' ') + names + "\n";
}

Report listBaselines() {
  Report report;
  report.json["baselines"] = Json::array();
  for (const baselines::Baseline& baseline : baselines::list()) {
    addToList(baseline.name, baseline.title, baseline.about, baseline.collectives, report);
  }
  const workflow::Method& nccl = *workflow::findMethod(workflow::kNcclMethod);
  addToList(nccl.id, nccl.title, nccl.description, nccl.collectives, report);
  return report;
}

/// NCCL's rings where no schedule has their routes, or has them one by one: what they reach by congestion.
Report ncclReport(const fabric::Fabric& fabric, Collective collective, const workflow::NcclFigures& figures) {
  const nccl::Graph& graph = figures.found.graphs.graphs.front();
  const nccl::Load& rings = nccl::findReach(figures.reaches, "Ring")->load;
  const Rational share = rings.algbw.gigabytesPerSecond() / figures.bound.gigabytesPerSecond();
  const std::string reason = figures.passesGpus
                                 ? "NCCL's rings leave a box through another GPU (PXN), which no schedule can"
                                 : "NCCL's rings have too many transfers to be written one by one";
  const auto limit = [&](const nccl::Load& load) {
    const fabric::Arc& arc = fabric.arcs()[load.arc];
    return Json{{"from", fabric.nodes()[arc.tail].id}, {"to", fabric.nodes()[arc.head].id}};
  };
  const Bandwidth bus = workflow::busbw(collective, rings.algbw, fabric.gpuCount());
  Report report;
  report.json = {{"ok", true},
                 {"fabric", fabric.name()},
                 {"collective", toString(collective)},
                 {"gpus", fabric.gpuCount()},
                 {"algbw", toFraction(rings.algbw)},
                 {"algbw_GBps", toGBps(rings.algbw)},
                 {"busbw", toFraction(bus)},
                 {"busbw_GBps", toGBps(bus)},
                 {"optimal", rings.algbw == figures.bound},
                 {"optimum_algbw", toFraction(figures.bound)},
                 {"share_of_optimum", share.toString()},
                 {"limited_by", limit(rings)},
                 {"schedule", nullptr},
                 {"reason", reason},
                 {"nccl_channels", graph.channelCount},
                 {"method", workflow::kNcclMethod}};
  report.text = std::string(toString(collective)) + " " + gigabytes(rings.algbw) + " by NCCL, by congestion\n" +
                "  bound       " + gigabytes(figures.bound) + "\n  rings       " +
                workflow::worthText(fabric, rings, figures.bound) + "\n";
  if (const nccl::Reach* trees = nccl::findReach(figures.reaches, "Tree")) {
    report.json["nccl_trees_algbw"] = toFraction(trees->load.algbw);
    report.text += "  trees       " + workflow::worthText(fabric, trees->load, figures.bound) + "\n";
  }
  if (const nccl::Reach* nvls = nccl::findNvls(figures.reaches)) {
    report.json["nccl_nvls_algbw"] = toFraction(nvls->load.algbw);
    report.text += formatted("  %-12s", std::string(nvls->algorithm).c_str()) +
                   workflow::worthText(fabric, nvls->load, figures.bound) + "\n";
  }
  report.json["nccl_choices"] = workflow::bandsJson(figures.bands);
  report.text += "  chooses     " + workflow::bandsText(figures.bands) + "\n";
  report.text += "  NCCL        " + counted(graph.channelCount, "channel") + " at " + graph.speedIntra +
                 " GB/s, before they are repeated\n  schedule    none: " + reason + "\n";
  report.json["uncertain"] = Json::array();
  for (const std::string& sentence : nccl::uncertainties()) {
    report.json["uncertain"].push_back(sentence);
    report.text += "              not certain: " + sentence + "\n";
  }
  return report;
}

Result<Report> ncclWithoutSchedule(const GenerateOptions& options, const Progress& progress) {
  const auto collective = workflow::readCollective(options.demand.collective);
  const auto loaded = collective ? loadFabric(options.fabric, progress) : collective.error();
  if (!loaded) {
    return loaded.error();
  }
  const auto& method = *workflow::findMethod(workflow::kNcclMethod);
  const auto values = workflow::OptionValues::read(method.options, options.values);
  if (!values) {
    return values.error();
  }
  const auto capability = values->integer("compute-capability");
  const auto figures =
      workflow::ncclFigures(loaded->fabric, *collective,
                            static_cast<int>(capability.value_or(fabric::likelyCapability(loaded->fabric))), progress);
  if (!figures) {
    return figures.error();
  }
  return ncclReport(loaded->fabric, *collective, *figures);
}

Result<Report> runBaseline(GenerateOptions options, bool json, const Progress& progress) {
  if (options.method == "list") {
    return listBaselines();
  }
  if (baselines::find(options.method) == nullptr && options.method != workflow::kNcclMethod) {
    const std::string names = commaList(baselines::list(), &baselines::Baseline::name);
    return Error{ErrorCode::badUsage, "There is no baseline " + inQuotes(options.method),
                 "choose one of " + names + ", " + workflow::kNcclMethod};
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
  if (!report && options.method == workflow::kNcclMethod && options.output.empty() &&
      (report.error().code == ErrorCode::infeasible || report.error().code == ErrorCode::limit)) {
    report = ncclWithoutSchedule(options, progress);
  }
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
                                "  coppice-cli alltoall preset:mi250,boxes=2 -o alltoall.schedule.json\n"
                                "  coppice-cli alltoall preset:dgx-h100,boxes=2 --demand bytes.csv --json");
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
  addOptions(sub, workflow::findMethod(workflow::kNcclMethod)->options, options->values);
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
