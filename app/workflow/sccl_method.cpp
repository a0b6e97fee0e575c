// SPDX-License-Identifier: Apache-2.0
#include "workflow/sccl_method.hpp"

#include <string>
#include <utility>

#include "base/text.hpp"
#include "workflow/facts.hpp"

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

Made madeOf(synth::StatedPoint point, const Bandwidth& unit, const OptionValues& values) {
  Made made{.schedule = std::move(point.schedule)};
  made.name = "sccl (" + std::to_string(point.size.chunks) + ", " + std::to_string(point.size.steps) + ", " +
              std::to_string(point.size.rounds) + ")";
  made.claims = roundsOf(unit, values.flag("one-bandwidth"));
  point.schedule = {};
  made.facts = [point = std::move(point), unit, k = values.integer("k")](const LoadedFabric&, const Judged*) {
    Facts facts = pointFacts(point, k);
    facts.push_back({.key = "unit", .value = toFraction(unit)});
    return facts;
  };
  return made;
}

/// By steps; the last one has the best throughput.
Result<Front> frontOf(const fabric::Fabric& fabric, const schedule::CollectiveTable& goal, const OptionValues& values,
                      Wanted wanted, const Progress& progress) {
  auto found = search(fabric, goal, values, progress);
  if (!found) {
    return found.error();
  }
  if (wanted == Wanted::one && progress.isCancelled()) {
    return Error{ErrorCode::cancelled, "interrupted"};
  }
  Front front;
  for (synth::StatedPoint& point : found->points) {
    front.made.push_back(madeOf(std::move(point), found->unit, values));
    front.made.back().dependsOnTime = found->dependsOnTime;
  }
  return front;
}

Result<Front> generateSccl(const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                           Wanted wanted, const Progress& progress) {
  const auto goal = schedule::CollectiveTable::make(demand.collective, fabric.gpuCount(), demand.root);
  return goal ? frontOf(fabric, *goal, values, wanted, progress) : Result<Front>(goal.error());
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
           .title = "GB/s of one chunk per round",
           .help = "GB/s that move one chunk per round; default: chosen by the search",
           .placeholder = "GBPS",
           .example = "25 or 25/2",
           .excludes = {"one-bandwidth"}},
          {.name = "one-bandwidth",
           .title = "All links count as one unit",
           .help = "Each link moves one chunk per round, whatever its bandwidth",
           .kind = OptionKind::flag},
          {.name = "direct",
           .title = "Direct schedules only",
           .help = "allreduce: no reduce_scatter followed by an allgather",
           .kind = OptionKind::flag,
           .collectives = {Collective::allreduce}},
          {.name = "seed",
           .title = "Seed",
           .help = "The same seed gives the same result, unless the time limit ends a part of the search",
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
           .placeholder = "SECONDS",
           .unit = "s"}};
}

}  // namespace

Method scclMethod() {
  return {
      .id = "sccl",
      .title = "SCCL",
      .description = "Search for schedules of few steps, with bounds that prove how good they are.",
      .collectives = {Collective::allgather, Collective::reduceScatter, Collective::allreduce, Collective::broadcast,
                      Collective::reduce, Collective::alltoall, Collective::gather, Collective::scatter},
      .family = Family::search,
      .options = scclOptions(),
      .form = ScheduleForm::steps,
      .timeOption = "seconds",
      .front = generateSccl};
}

Claims roundsOf(const Bandwidth& unit, bool isOneBandwidth) {
  return {.rounds = RoundsClaim{isOneBandwidth ? std::nullopt : std::optional(unit)}};
}

Facts pointFacts(const synth::StatedPoint& point, std::optional<std::int64_t> extraRounds) {
  const Rational ratio(point.size.rounds, point.size.chunks);
  std::string near = "bound " + point.bound.toString() + ", " + std::to_string(point.refuted) +
                     " better sizes refuted, " + std::to_string(point.open) + " open";
  if (point.isOptimal) {
    near = "optimal, proved for all chunk counts";
  } else if (point.isOptimalWithin && extraRounds) {
    near = "optimal among R <= S + " + std::to_string(*extraRounds) + ", bound of all " + point.bound.toString();
  }
  Facts facts = {{.key = "chunks", .value = point.size.chunks},
                 {.key = "steps", .value = point.size.steps},
                 {.key = "rounds", .value = point.size.rounds},
                 {.key = "optimal", .value = point.isOptimal},
                 {.key = "ratio", .value = ratio.toString(), .label = "R/C", .text = ratio.toString() + ", " + near},
                 {.key = "bound", .value = point.bound.toString()},
                 {.key = "refuted", .value = point.refuted},
                 {.key = "open", .value = point.open},
                 {.key = "how", .value = point.how, .text = point.how}};
  if (extraRounds) {
    facts.push_back({.key = "optimal_within_k", .value = point.isOptimalWithin});
  }
  return facts;
}

Result<Made> makeForTable(const fabric::Fabric& fabric, const schedule::CollectiveTable& table, const Values& options,
                          const Progress& progress) {
  if (table.rankCount() != fabric.gpuCount()) {
    return Error{ErrorCode::badUsage,
                 "the table is for " + std::to_string(table.rankCount()) + " GPUs, the fabric has " +
                     std::to_string(fabric.gpuCount()),
                 "give a table for this fabric"};
  }
  const auto values = OptionValues::read(scclOptions(), options, Collective::custom);
  auto front = values ? frontOf(fabric, table, *values, Wanted::one, progress) : Result<Front>(values.error());
  return front ? Result<Made>(std::move(front->made.back())) : Result<Made>(front.error());
}

}  // namespace coppice::workflow
