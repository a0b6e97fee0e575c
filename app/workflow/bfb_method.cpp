// SPDX-License-Identifier: Apache-2.0
#include "workflow/bfb_method.hpp"

#include <memory>
#include <utility>

#include "base/text.hpp"
#include "bfb/schedule.hpp"
#include "schedule/to_forest.hpp"
#include "workflow/bfb_facts.hpp"
#include "workflow/sizes.hpp"

namespace coppice::workflow {
namespace {

constexpr const char* kExact = "exact";

std::vector<Option> bfbOptions() {
  return {{.name = "chunks",
           .title = "Chunks per shard",
           .help = "Number of equal chunks per shard, or exact for the minimum that loses nothing",
           .defaultText = kExact,
           .placeholder = "P",
           .example = "exact, or a number"},
          {.name = "through-switches",
           .title = "Through switches",
           .help = "Split the links of switches and NICs into routes between GPUs first",
           .kind = OptionKind::flag},
          {.name = "at-size",
           .title = "Mind latencies at the size",
           .help = "Plan with the latencies of links for this many bytes, for example 1MiB: slower links then get less",
           .placeholder = "SIZE",
           .example = "1MiB"},
          {.name = "trees",
           .title = "Trees in place of steps",
           .help = "The trees that the pieces travel on, pipelined, instead of steps",
           .kind = OptionKind::flag},
          {.name = "by-rule",
           .title = "Store one GPU's trees and rotate them",
           .help = "Where all GPUs are alike (circulants, tori, hypercubes): store the trees of one GPU and the "
                   "rotations of the ranks that map them to all others; always used above 16384 GPUs",
           .kind = OptionKind::flag}};
}

/// What BFB is asked with these options. Errors: badUsage.
Result<bfb::Request> bfbRequest(const Demand& demand, const OptionValues& values) {
  bfb::Request request{.collective = demand.collective, .root = demand.root};
  request.throughSwitches = values.flag("through-switches");
  request.byRule = values.flag("by-rule");
  if (const std::string chunks = values.text("chunks"); chunks != kExact) {
    request.chunks = parseInteger(chunks);
    if (!request.chunks || *request.chunks < 1) {
      return optionError("chunks", inQuotes(chunks) + " is not a number of chunks",
                         "give a whole number of 1 or more, or exact");
    }
  }
  if (const std::string size = values.text("at-size"); !size.empty()) {
    const auto bytes = parseBytes(size, "at-size");
    if (!bytes) {
      return bytes.error();
    }
    if (*bytes < 1) {
      return optionError("at-size", "there is nothing to send", "give at least one byte");
    }
    request.bytes = *bytes;
  }
  return request;
}

/// What is kept to tell of a schedule: all but the transfers and the trees, which are as many as memory holds.
std::shared_ptr<bfb::Generated> withoutTransfers(const bfb::Generated& made) {
  auto kept = std::make_shared<bfb::Generated>();
  kept->chunks = made.chunks;
  kept->costs = made.costs;
  kept->gpuCount = made.gpuCount;
  kept->schedule.goal = made.schedule.goal;
  kept->schedule.paths = made.schedule.paths;
  kept->schedule.stepCount = made.schedule.stepCount;
  kept->schedule.algbw = made.schedule.algbw;
  return kept;
}

Result<Front> generateBfb(const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values, Wanted wanted,
                          const Progress& progress) {
  auto request = bfbRequest(demand, values);
  if (!request) {
    return request.error();
  }
  if (wanted == Wanted::all) {
    request->throughSwitches = fabric.nodeCount() > fabric.gpuCount();
  }
  auto made = bfb::generate(fabric, *request, progress);
  if (!made) {
    return made.error();
  }
  const Claims claims = bfbClaims(fabric, *made);
  const Describe facts = [kept = withoutTransfers(*made), bytes = request->bytes,
                          transfers = static_cast<std::int64_t>(made->schedule.transfers.size())](
                             const LoadedFabric& loaded, const Judged* judged) {
    return judged == nullptr ? Facts() : bfbFacts(loaded, *judged, *kept, transfers, bytes);
  };
  Front front;
  if (made->rule) {
    front.made.push_back({.schedule = *std::move(made->rule), .claims = claims, .facts = facts});
    return front;
  }
  std::optional<Made> asTrees;
  const bool wantsTrees = values.flag("trees");
  if (wanted == Wanted::all || wantsTrees) {
    auto trees = schedule::forestOf(fabric, made->schedule, schedule::kMaxTreeEdges, progress);
    if (trees) {
      asTrees = {.schedule = *std::move(trees), .name = "bfb as trees", .claims = claims, .facts = facts};
    } else if (wanted == Wanted::one) {
      return trees.error();
    } else {
      front.refused.push_back({"bfb as trees", trees.error()});
    }
  }
  if (wanted == Wanted::all || !wantsTrees) {
    front.made.push_back({.schedule = std::move(made->schedule), .claims = claims, .facts = facts});
  }
  if (asTrees) {
    front.made.push_back(*std::move(asTrees));
  }
  return front;
}

}  // namespace

Method bfbMethod() {
  return {.id = "bfb",
          .title = "BFB",
          .description =
              "Breadth-first broadcast: shortest paths, with the load of every step spread exactly evenly; for "
              "links between GPUs.",
          .collectives = {kForestCollectives.begin(), kForestCollectives.end()},
          .family = Family::fewSteps,
          .options = bfbOptions(),
          .form = ScheduleForm::steps,
          .front = generateBfb};
}

}  // namespace coppice::workflow
