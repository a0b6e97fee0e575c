// SPDX-License-Identifier: Apache-2.0
#include "workflow/sccl_method.hpp"

#include <string>
#include <utility>

#include "base/text.hpp"
#include "synth/sccl.hpp"

namespace coppice::workflow {
namespace {

Result<synth::SynthesisOptions> searchOptions(const OptionValues& values) {
  synth::SynthesisOptions options;
  options.seconds = static_cast<double>(values.integer("seconds").value_or(0));
  options.seed = static_cast<std::uint64_t>(values.integer("seed").value_or(1));
  options.isDirect = values.flag("direct");
  options.unit.isOneBandwidth = values.flag("one-bandwidth");
  if (const std::string unit = values.text("unit"); !unit.empty()) {
    const auto read = Rational::parse(unit);
    if (!read) {
      return optionError("unit", inQuotes(unit) + " is not a bandwidth", "give GB/s, for example 25 or 25/2");
    }
    options.unit.unit = Bandwidth(*read);
  }
  return options;
}

/// With at least one schedule. Errors: cancelled where none was found until then.
Result<synth::StatedFront> search(const fabric::Fabric& fabric, const schedule::CollectiveTable& goal,
                                  const OptionValues& values, const Progress& progress) {
  const auto options = searchOptions(values);
  if (options && options->isDirect && goal.collective() != Collective::allreduce) {
    return optionError("direct", "direct schedules are only searched for allreduce", "leave --direct out");
  }
  if (!options) {
    return options.error();
  }
  auto front = synth::synthesizeFront(
      fabric, goal,
      {.maxSteps = values.integer("max-steps").value_or(0),
       .maxChunks = values.integer("max-chunks").value_or(0),
       .extraRounds = values.integer("k")},
      *options, [](const synth::Candidate&) {}, progress);
  if (!front) {
    return front.error();
  }
  if (front->points.empty()) {
    return progress.isCancelled()
               ? Error{ErrorCode::cancelled, "interrupted"}
               : Error{ErrorCode::infeasible,
                       "sccl found no schedule; none has fewer than " + std::to_string(front->minSteps) + " steps",
                       "allow more with --max-steps or --seconds, or choose another method"};
  }
  return front;
}

Result<synth::StatedFront> search(const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                                  const Progress& progress) {
  if (!demand.amounts.empty()) {
    return optionError("amounts", "sccl gives every GPU the same amount of data",
                       "leave --amounts out, or choose another method");
  }
  const auto goal = schedule::CollectiveTable::make(demand.collective, fabric.gpuCount(), demand.root);
  return goal ? search(fabric, *goal, values, progress) : Result<synth::StatedFront>(goal.error());
}

/// The one of best throughput.
Result<Made> lastOf(Result<synth::StatedFront> front, const Progress& progress) {
  if (!front) {
    return front.error();
  }
  if (progress.isCancelled()) {
    return Error{ErrorCode::cancelled, "interrupted"};
  }
  return Made{.schedule = std::move(front->points.back().schedule)};
}

Result<Made> generateSccl(const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                          const Progress& progress) {
  return lastOf(search(fabric, demand, values, progress), progress);
}

Result<FrontSchedules> generateScclFront(const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                                         const Progress& progress) {
  auto front = search(fabric, demand, values, progress);
  if (!front) {
    return front.error();
  }
  FrontSchedules all;
  for (synth::StatedPoint& point : front->points) {
    all.schedules.push_back({"sccl (" + std::to_string(point.size.chunks) + ", " + std::to_string(point.size.steps) +
                                 ", " + std::to_string(point.size.rounds) + ")",
                             std::move(point.schedule)});
  }
  return all;
}

std::vector<Option> scclOptions() {
  return {{.name = "max-steps",
           .title = "Maximum steps",
           .help = "The best throughput within this many steps; default: four more than the minimum or than the "
                   "links within a box need",
           .kind = OptionKind::integer,
           .min = 1,
           .max = 1000,
           .placeholder = "STEPS"},
          {.name = "max-chunks",
           .title = "Maximum chunks",
           .help = "Try no more chunks than this, per GPU or of the root; default: 32 of each",
           .kind = OptionKind::integer,
           .min = 1,
           .max = 1'000'000,
           .placeholder = "CHUNKS"},
          {.name = "k",
           .title = "Maximum extra rounds",
           .help = "At most K more rounds than steps (k-synchronous); default: any number",
           .kind = OptionKind::integer,
           .min = 0,
           .max = 1'000'000,
           .placeholder = "K"},
          {.name = "unit",
           .title = "Unit",
           .help = "GB/s that move one chunk per round; default: chosen by the search",
           .placeholder = "GBPS",
           .excludes = {"one-bandwidth"}},
          {.name = "one-bandwidth",
           .title = "All links count as one unit",
           .help = "Each link moves one chunk per round, whatever its bandwidth",
           .kind = OptionKind::flag},
          {.name = "direct",
           .title = "Direct schedules only",
           .help = "allreduce: no reduce_scatter followed by an allgather",
           .kind = OptionKind::flag},
          {.name = "seed",
           .title = "Seed",
           .help = "The same seed gives the same result",
           .kind = OptionKind::integer,
           .defaultText = "1",
           .min = 1,
           .placeholder = "N"},
          {.name = "seconds",
           .title = "Time limit",
           .help = "Seconds for the search",
           .kind = OptionKind::integer,
           .defaultText = "60",
           .min = 1,
           .max = 86400,
           .placeholder = "SECONDS"}};
}

}  // namespace

Generator scclMethod() {
  return {
      .id = "sccl",
      .title = "SCCL",
      .description = "Search for schedules of few steps, with bounds that prove how good they are",
      .collectives = {Collective::allgather, Collective::reduceScatter, Collective::allreduce, Collective::broadcast,
                      Collective::reduce, Collective::alltoall, Collective::gather, Collective::scatter},
      .options = scclOptions(),
      .form = ScheduleForm::steps,
      .generate = generateSccl};
}

FrontMethod scclFront() {
  return {.id = "sccl", .timeOption = "seconds", .generate = generateScclFront};
}

Result<Made> makeForTable(const fabric::Fabric& fabric, const schedule::CollectiveTable& table, const Values& options,
                          const Progress& progress) {
  if (table.rankCount() != fabric.gpuCount()) {
    return Error{ErrorCode::badUsage,
                 "the table is for " + std::to_string(table.rankCount()) + " GPUs, the fabric has " +
                     std::to_string(fabric.gpuCount()),
                 "give a table for this fabric"};
  }
  const auto values = OptionValues::read(scclOptions(), options);
  return values ? lastOf(search(fabric, table, *values, progress), progress) : Result<Made>(values.error());
}

}  // namespace coppice::workflow
