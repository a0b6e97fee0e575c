// SPDX-License-Identifier: Apache-2.0
#include "method_list.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "input.hpp"
#include "words.hpp"
#include "workflow/measured_run.hpp"
#include "workflow/request.hpp"

namespace coppice::cli {
namespace {

/// "a,b" as its items; none for "all".
std::vector<std::string> idsOf(const std::string& names) {
  std::vector<std::string> ids;
  for (std::size_t start = 0; names != "all" && start <= names.size();) {
    const std::size_t end = std::min(names.find(',', start), names.size());
    ids.push_back(names.substr(start, end - start));
    start = end + 1;
  }
  return ids;
}

/// The root is that of a rooted collective: rank 0 where none is given.
Result<workflow::Demand> demandOf(const fabric::Fabric& fabric, const MethodListOptions& options) {
  const auto collective = workflow::readCollective(options.collective);
  if (!collective) {
    return collective.error();
  }
  if (isRooted(*collective) && options.root.empty()) {
    return workflow::defaultDemand(*collective);
  }
  return workflow::readDemand(fabric, {.collective = options.collective, .root = options.root});
}

}  // namespace

void addMethodListOptions(CLI::App& sub, MethodListOptions& options) {
  sub.add_option("--method,--methods", options.names,
                 "Generate schedules by these methods: names separated by commas, or all; generate --help lists them");
  sub.add_option("-c,--collective", options.collective,
                 "With --method: allgather, reduce_scatter, allreduce, broadcast, reduce, alltoall, gather or scatter")
      ->capture_default_str();
  sub.add_option("--root", options.root, "With --method: root of a rooted collective, by id or rank; default: rank 0");
  sub.add_option("--gpus", options.gpus, "With --method: keep only these GPUs of the fabric, for example 0-7,16-23");
  addSeconds(sub, "--time-limit", options.timeLimit, "With --method: time limit of each method, for example 60s or 5m")
      ->capture_default_str();
  addSeconds(sub, "--total-time", options.totalTime,
             "With --method: time of all methods together; each gets an equal share of what others left");
}

Result<workflow::MethodContenders> makeByMethods(const std::string& fabric, const MethodListOptions& options,
                                                 const workflow::PlayOptions& play, const std::string& profile,
                                                 const Progress& progress) {
  FabricOptions source;
  source.source = fabric;
  source.gpus = options.gpus;
  source.standardInput = readStandardInput;
  auto loaded = loadFabric(source, progress);
  if (!loaded) {
    return loaded.error();
  }
  const auto shared = std::make_shared<const LoadedFabric>(*std::move(loaded));
  const auto demand = demandOf(shared->fabric, options);
  if (!demand) {
    return demand.error();
  }
  workflow::PlayOptions limited = play;
  limited.secondsPerMethod = options.timeLimit;
  if (options.totalTime > 0) {
    limited.secondsTogether = options.totalTime;
  }
  if (!profile.empty()) {
    const auto text = readText(profile);
    if (!text) {
      return text.error();
    }
    auto model = workflow::withProfile(play.model, *text, inputName(profile), shared->fabric);
    if (!model) {
      return model.error();
    }
    limited.model = *std::move(model);
  }
  const auto methods = workflow::methodsOf(idsOf(options.names), demand->collective);
  return methods ? workflow::contendersOfMethods(shared, *methods, *demand, limited, progress)
                 : Result<workflow::MethodContenders>(methods.error());
}

Error noneMade(const std::vector<workflow::Refused>& refused) {
  if (refused.size() == 1) {
    return refused.front().error;
  }
  std::string reasons;
  for (const workflow::Refused& each : refused) {
    reasons += (reasons.empty() ? "" : "; ") + each.method + ": " + each.error.message;
  }
  return {ErrorCode::infeasible, "no method generated a schedule" + (reasons.empty() ? "" : ": " + reasons),
          "choose other methods or another collective"};
}

}  // namespace coppice::cli
