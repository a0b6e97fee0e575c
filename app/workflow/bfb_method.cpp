// SPDX-License-Identifier: Apache-2.0
#include "workflow/bfb_method.hpp"

#include <utility>

#include "base/text.hpp"
#include "schedule/to_forest.hpp"
#include "workflow/sizes.hpp"

namespace coppice::workflow {
namespace {

constexpr const char* kExact = "exact";

Result<Made> generateBfb(const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                         const Progress& progress) {
  const auto request = bfbRequest(demand, values);
  if (!request) {
    return request.error();
  }
  auto generated = bfb::generate(fabric, *request, progress);
  if (!generated) {
    return generated.error();
  }
  if (generated->rule) {
    return Made{.schedule = *std::move(generated->rule)};
  }
  if (values.flag("trees")) {
    auto trees = schedule::forestOf(fabric, generated->schedule, schedule::kMaxTreeEdges, progress);
    if (!trees) {
      return trees.error();
    }
    return Made{.schedule = *std::move(trees)};
  }
  return Made{.schedule = std::move(generated->schedule)};
}

}  // namespace

namespace {

Result<FrontSchedules> generateBfbFront(const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                                        const Progress& progress) {
  auto request = bfbRequest(demand, values);
  if (!request) {
    return request.error();
  }
  request->throughSwitches = fabric.nodeCount() > fabric.gpuCount();
  auto generated = bfb::generate(fabric, *request, progress);
  if (!generated) {
    return generated.error();
  }
  FrontSchedules all;
  if (generated->rule) {
    all.schedules.push_back({"bfb", *std::move(generated->rule)});
    return all;
  }
  auto trees = schedule::forestOf(fabric, generated->schedule, schedule::kMaxTreeEdges, progress);
  all.schedules.push_back({"bfb", std::move(generated->schedule)});
  if (trees) {
    all.schedules.push_back({"bfb as trees", *std::move(trees)});
  } else {
    all.refused.push_back({"bfb as trees", trees.error()});
  }
  return all;
}

}  // namespace

FrontMethod bfbFront() {
  return {.id = "bfb", .timeOption = {}, .generate = generateBfbFront};
}

std::vector<Option> bfbOptions() {
  return {{.name = "chunks",
           .title = "Chunks per shard",
           .help = "Number of equal chunks per shard, or exact for the minimum that loses nothing",
           .defaultText = kExact,
           .placeholder = "P"},
          {.name = "through-switches",
           .title = "Through switches",
           .help = "Split the links of switches and NICs into routes between GPUs first",
           .kind = OptionKind::flag},
          {.name = "at-size",
           .title = "Latencies at size",
           .help = "Plan with the latencies of links for this many bytes, for example 1MiB: slower links then get less",
           .placeholder = "SIZE"},
          {.name = "trees",
           .title = "As trees",
           .help = "The trees that the pieces travel on, pipelined, instead of steps",
           .kind = OptionKind::flag},
          {.name = "by-rule",
           .title = "By rule",
           .help = "Where all GPUs are alike (circulants, tori, hypercubes): store the trees of one GPU and the "
                   "rotations of the ranks that map them to all others; always used above 16384 GPUs",
           .kind = OptionKind::flag}};
}

Result<bfb::Request> bfbRequest(const Demand& demand, const OptionValues& values) {
  if (!demand.amounts.empty()) {
    return optionError("amounts", "BFB gives every GPU the same amount of data",
                       "leave --amounts out, or choose another method");
  }
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

Generator bfbMethod() {
  return {.id = "bfb",
          .title = "BFB",
          .description =
              "Breadth-first broadcast: shortest paths, with the load of every step spread exactly evenly; for "
              "links between GPUs",
          .collectives = {kForestCollectives.begin(), kForestCollectives.end()},
          .options = bfbOptions(),
          .form = ScheduleForm::steps,
          .generate = generateBfb};
}

}  // namespace coppice::workflow
