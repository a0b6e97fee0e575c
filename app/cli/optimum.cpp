// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>

#include "answer.hpp"
#include "command.hpp"
#include "forestcoll/forestcoll.hpp"
#include "input.hpp"
#include "optimum_groups.hpp"
#include "optimum_placement.hpp"
#include "text.hpp"
#include "workflow/alltoall_method.hpp"
#include "workflow/clock.hpp"
#include "workflow/options.hpp"
#include "workflow/proved_optimum.hpp"

namespace coppice::cli {
namespace {

struct OptimumOptions {
  FabricOptions fabric;
  workflow::DemandText demand;
  workflow::Values limits;
  GroupOptions groups;
};

/// No cut need be reached here: the rate that lengths prove, and whether routes are known that reach it.
Result<Report> alltoallOptimum(const OptimumOptions& options, const workflow::LoadedFabric& loaded,
                               const Progress& progress) {
  const fabric::Fabric& fabric = loaded.fabric;
  if (const auto demand = workflow::readDemand(fabric, options.demand); !demand) {
    return demand.error();
  }
  if (!options.limits.empty()) {
    return workflow::optionError(options.limits.begin()->first, "it applies to trees, and alltoall has none",
                                 "leave it out");
  }
  workflow::Clock clock;
  const auto found = workflow::verifiedAlltoall(fabric, {}, progress);
  if (!found) {
    return found.error();
  }
  const auto& optimum = *found;
  const double seconds = clock.lap();
  const Bandwidth algbw = optimum->upper * Rational(optimum->gpuCount);
  const Bandwidth reached = optimum->lower * Rational(optimum->gpuCount);
  const Bandwidth bus = busbw(Collective::alltoall, algbw, optimum->gpuCount);
  Report report;
  Json& json = report.json;
  json["ok"] = true;
  json["fabric"] = fabric.name();
  json["digest"] = fabric.digest();
  json["collective"] = toString(Collective::alltoall);
  json["gpus"] = optimum->gpuCount;
  json["status"] = optimum->isExact() ? "exact" : "upper_limit";
  json["optimal"] = optimum->isExact();
  json["algbw"] = toFraction(algbw);
  json["algbw_GBps"] = toGBps(algbw);
  json["lower_algbw"] = toFraction(reached);
  json["lower_algbw_GBps"] = toGBps(reached);
  json["busbw"] = toFraction(bus);
  json["busbw_GBps"] = toGBps(bus);
  json["import_findings"] = toJson(loaded.findings);
  json["seconds"] = seconds;
  report.text =
      "alltoall " +
      (optimum->isExact() ? gigabytes(algbw) + ", the exact optimum\n"
                          : "at most " + gigabytes(algbw) + "; routes are known for " + gigabytes(reached) + "\n") +
      "  fabric      " + named(fabric.name()) + ", " + counted(optimum->gpuCount, "GPU") + "\n  busbw       " +
      gigabytes(bus) + " as nccl-tests counts it\n" + "  limited by  coppice-cli alltoall lists the links\n" +
      lines(loaded.findings) + "  time        " + duration(seconds) + "\n";
  return report;
}

Result<Report> run(const OptimumOptions& options, bool json, const Progress& progress) {
  if (const Outcome checked = checkGroupOptions(options.groups, options.fabric); !checked) {
    return checked.error();
  }
  const bool isPlaced = options.groups.placement.contains("place");
  if ((isPlaced || options.groups.isAny()) && !options.limits.empty()) {
    return workflow::optionError(options.limits.begin()->first, "it applies to one collective, not to groups",
                                 "leave it out");
  }
  if (isPlaced) {
    return placementOptimum(options.groups.placement, options.fabric, options.demand, options.groups.relayGpus,
                            progress);
  }
  if (options.groups.isAny()) {
    return groupsOptimum(options.groups, options.fabric, options.demand, progress);
  }
  const auto loaded = loadFabric(options.fabric, progress);
  if (!loaded) {
    return loaded.error();
  }
  if (parseCollective(options.demand.collective) == Collective::alltoall) {
    return alltoallOptimum(options, *loaded, progress);
  }
  const auto request = workflow::readRequest(loaded->fabric, options.demand, options.limits);
  if (!request) {
    return request.error();
  }
  const auto started = std::chrono::steady_clock::now();
  const auto optimum = workflow::provedOptimum(loaded->fabric, *request, progress);
  if (!optimum) {
    return optimum.error();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
  std::optional<forestcoll::Optimum> free;
  if (const auto unlimited = workflow::withoutTreeLimit(*request)) {
    auto found = forestcoll::optimum(loaded->fabric, *unlimited, progress);
    if (!found) {
      return found.error();
    }
    free = *std::move(found);
  }
  const auto tied = cutsOf(loaded->fabric, *request, *optimum, progress);
  if (!tied) {
    return tied.error();
  }
  Answer answer = describeOptimum(loaded->fabric, *request, *optimum, *tied, free ? &*free : nullptr, json);
  answer.json["import_findings"] = toJson(loaded->findings);
  answer.json["seconds"] = seconds.count();
  answer.text += lines(loaded->findings) + "  time        " + duration(seconds.count()) + "\n";
  return Report{std::move(answer.json), std::move(answer.text)};
}

}  // namespace

void addOptimum(CLI::App& app, Invocation& invocation) {
  CLI::App& sub =
      addSubcommand(app, invocation, "optimum", "Compute the exact best throughput of a collective, and what limits it",
                    "  coppice-cli optimum examples/2x-dgx-a100.fabric.json\n"
                    "  coppice-cli optimum preset:mi250,boxes=2 --k 3\n"
                    "  coppice-cli optimum cluster.fabric.json --collective broadcast --root b0g0 --json\n"
                    "  coppice-cli optimum preset:dgx-a100,boxes=2 -c gather --root b0g0\n"
                    "  coppice-cli optimum preset:dgx-a100,boxes=2 -c alltoall\n"
                    "  coppice-cli optimum preset:dgx-h100,boxes=16 --mesh 16x8 --axis 0 -c allreduce\n"
                    "  coppice-cli optimum cluster.fabric.json --groups groups.json\n"
                    "  coppice-cli optimum cluster.fabric.json --place 16 --free 0-7,16-47 -c allreduce");
  auto options = std::make_shared<OptimumOptions>();
  addFabricOptions(sub, options->fabric);
  addDemandOptions(sub, options->demand);
  addOptions(sub, workflow::treeLimitOptions(), options->limits);
  addGroupOptions(sub, options->groups);
  addOptions(sub, workflow::placementOptions(), options->groups.placement, "Which GPUs a job should get");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
