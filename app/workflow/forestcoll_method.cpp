// SPDX-License-Identifier: Apache-2.0
#include "workflow/forestcoll_method.hpp"

#include <algorithm>
#include <utility>

#include "base/memory.hpp"
#include "base/text.hpp"
#include "forestcoll/peers/peer_limit.hpp"
#include "schedule/expansion.hpp"
#include "workflow/clock.hpp"
#include "workflow/request.hpp"
#include "workflow/sizes.hpp"

namespace coppice::workflow {
namespace {

std::vector<Option> forestCollOptions() {
  constexpr int kMaxLimit = 1'000'000;
  std::vector<Option> options = treeLimitOptions();
  options.push_back(
      {.name = "sizes",
       .title = "The best for programs used at",
       .help = "Choose the best k whose program the runtimes use at these sizes (bytes of the whole collective, "
               "float32): pow2, or a list such as 1MiB,100MiB; tries k up to that of the optimum, or up to --k-max",
       .placeholder = "SIZES",
       .excludes = {"k", "within"},
       .check = [](const std::string& value) -> Outcome {
         const auto sizes = parseSizes(value);
         return sizes ? Outcome(Done{}) : Outcome(sizes.error());
       },
       .group = kTreesPerRoot,
       .otherwise = options.front().otherwise,
       .suggestion = "pow2",
       .spoken = {{"pow2", "powers of two"}}});
  options.push_back({.name = "max-height",
                     .title = "Maximum height",
                     .help = "Maximum tree height in GPU-to-GPU hops; loses as little throughput as the search finds",
                     .kind = OptionKind::integer,
                     .min = 1,
                     .max = kMaxLimit,
                     .placeholder = "HOPS",
                     .group = "Height",
                     .suggestion = "8",
                     .unit = "hops between GPUs"});
  options.push_back(
      {.name = "height-effort",
       .title = "Effort to keep trees shallow",
       .help = "Effort to keep trees shallow: 0 = off, 1 = default (cheap); each step roughly doubles the work",
       .kind = OptionKind::integer,
       .defaultText = "1",
       .max = kMaxHeightEffort,
       .group = "Height"});
  options.push_back({.name = "max-peers",
                     .title = "Maximum peers of each GPU",
                     .help = "Maximum number of peers of each GPU; GPUs of different boxes relay for each other",
                     .kind = OptionKind::integer,
                     .min = 1,
                     .max = kMaxLimit,
                     .placeholder = "N",
                     .group = "Peers",
                     .suggestion = "32",
                     .unit = "other GPUs"});
  options.push_back({.name = "prune",
                     .title = "Use multicast and aggregation in switches",
                     .help = "Use switches that multicast or aggregate to reduce the load of links",
                     .kind = OptionKind::flag,
                     .group = kSwitches});
  options.push_back({.name = "own-copies",
                     .title = "GPUs get their own copy",
                     .help =
                         "A GPU that sends to or takes from a switch which copies or sums also gets its own copy, or "
                         "has its own data read, as NVLink SHARP does; costs some throughput",
                     .kind = OptionKind::flag,
                     .excludes = {"plain-switches"},
                     .collectives = {Collective::allreduce},
                     .group = kSwitches});
  for (Option& option : options) {
    // Shards on their ways to or from one root have no trees.
    if (option.collectives.empty()) {
      option.collectives = {kForestCollectives.begin(), kForestCollectives.end()};
    }
  }
  return options;
}

std::optional<int> smallInteger(const OptionValues& values, std::string_view name) {
  const auto value = values.integer(name);
  return value ? std::optional<int>(static_cast<int>(*value)) : std::nullopt;
}

/// Bytes for the trees of one forest; the reduction of an allreduce is a forest too.
std::int64_t maxTreeBytes(Collective collective) {
  const std::int64_t forests = collective == Collective::allreduce ? 2 : 1;
  return std::min(schedule::kMaxWrittenBytes, memoryWithinLimits().value_or(schedule::kMaxWrittenBytes)) / forests;
}

/// In-network pruning differs from place to place, so it needs the trees themselves.
Outcome prune(const fabric::Fabric& fabric, schedule::Schedule& schedule, const Progress& progress) {
  for (auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (*forest) {
      progress.report("pruning", 0);
      auto written = schedule::expanded(**forest, fabric, maxTreeBytes(schedule.collective), progress);
      if (!written) {
        Error error = written.error();
        if (error.code == ErrorCode::limit) {
          error.message = "pruning needs every tree: " + error.message;
          error.fix = "generate without pruning, or with more memory";
        }
        return error;
      }
      *forest = *std::move(written);
      forestcoll::pruneInNetwork(fabric, **forest);
    }
  }
  return Done{};
}

Result<Made> routeShards(const fabric::Fabric& fabric, const Demand& demand, const Progress& progress) {
  auto routed = forestcoll::routeShards(fabric, requestOf(demand), progress);
  if (!routed) {
    return routed.error();
  }
  return Made{.schedule = std::move(routed->schedule),
              .seconds = std::move(routed->seconds),
              .optimum = std::move(routed->optimum)};
}

Result<Made> generateForest(const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                            const Progress& progress) {
  if (movesShards(demand.collective)) {
    return routeShards(fabric, demand, progress);
  }
  Clock clock;
  auto request = forestCollRequest(demand, values);
  if (!request) {
    return request.error();
  }
  Made made;
  if (const std::string sizes = values.text("sizes"); !sizes.empty()) {
    const auto wanted = parseSizes(sizes);
    if (!wanted) {
      return wanted.error();
    }
    auto chosen = advice::treeCountFor(fabric, *request, *wanted, progress);
    if (!chosen) {
      const Error& error = chosen.error();
      return error.code == ErrorCode::badUsage ? optionError("sizes", error.message, error.fix) : error;
    }
    made.treeCount = *std::move(chosen);
    request->fixedK = made.treeCount->k;
    request->maxK.reset();
    made.seconds.push_back({"choosing_k", clock.lap()});
  }
  auto generated = forestcoll::generateLimited(fabric, *request, smallInteger(values, "max-peers"), progress);
  if (!generated) {
    return generated.error();
  }
  made.seconds.insert(made.seconds.end(), generated->seconds.begin(), generated->seconds.end());
  clock.lap();
  if (values.flag("prune") && !generated->optimum.usesSwitches) {
    if (Outcome pruned = prune(fabric, generated->schedule, progress); !pruned) {
      return pruned.error();
    }
    made.seconds.push_back({"pruning", clock.lap()});
  }
  made.claims.treeBound = generated->optimum.boundProof;
  made.claims.plainSwitches = request->plainSwitches;
  made.optimum = std::move(generated->optimum);
  made.schedule = std::move(generated->schedule);
  return made;
}

}  // namespace

Result<forestcoll::Request> forestCollRequest(const Demand& demand, const OptionValues& values) {
  forestcoll::Request request = requestOf(demand);
  if (Outcome limited = readTreeLimits(values, request); !limited) {
    return limited.error();
  }
  request.maxTreeBytes = maxTreeBytes(demand.collective);
  request.heightEffort = smallInteger(values, "height-effort").value_or(1);
  request.maxHeight = smallInteger(values, "max-height");
  request.ownCopies = values.flag("own-copies");
  return request;
}

Method forestCollMethod() {
  std::vector<Collective> collectives(kForestCollectives.begin(), kForestCollectives.end());
  collectives.push_back(Collective::gather);
  collectives.push_back(Collective::scatter);
  return {
      .id = kDefaultMethod,
      .title = "ForestColl",
      .description = "Spanning trees that reach the exact optimum; for gather and scatter, optimal routes of shards.",
      .collectives = std::move(collectives),
      .family = Family::optimal,
      .options = forestCollOptions(),
      .hasAmounts = true,
      .front = frontOfOne(generateForest)};
}

}  // namespace coppice::workflow
