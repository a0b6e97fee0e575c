// SPDX-License-Identifier: Apache-2.0
#include "workflow/taccl_method.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "io/taccl_json.hpp"
#include "sketch/propose.hpp"
#include "taccl/synthesis.hpp"
#include "workflow/fabric_source.hpp"
#include "workflow/facts.hpp"
#include "workflow/sketch_plan.hpp"

namespace coppice::workflow {
namespace {

std::vector<Option> tacclOptions() {
  return {{.name = "search-time",
           .title = "Time limit",
           .help = "Maximum search time in seconds; the search ends early when it reaches the bound.",
           .kind = OptionKind::integer,
           .defaultText = "10",
           .min = 1,
           .max = 86400,
           .placeholder = "SECONDS",
           .unit = "s"},
          {.name = "search-effort",
           .title = "Schedules to try",
           .help = "Number of schedules to try instead of a time; the result is then the same on any machine.",
           .kind = OptionKind::integer,
           .min = 1,
           .max = std::int64_t{1} << 50,
           .placeholder = "N",
           .excludes = {"search-time"}},
          {.name = "search-engine",
           .title = "Engine",
           .help = "search, or milp: the three stages of the paper, with the solver CBC.",
           .kind = OptionKind::choice,
           .defaultText = "search",
           .words = {"search", "milp"}},
          {.name = "search-seed",
           .title = "Seed",
           .help = "Seed of the random choices; with a number of schedules to try, the same seed gives the same result.",
           .kind = OptionKind::integer,
           .defaultText = "1",
           .placeholder = "N"},
          {.name = "chunks-per-gpu",
           .title = "Chunks per GPU",
           .help = "Pieces into which each GPU's data is cut; each takes its own route. Default: by the links.",
           .kind = OptionKind::integer,
           .min = 1,
           .max = 64,
           .placeholder = "N",
           .excludes = {"sketch"}},
          {.name = "sketch",
           .title = "Sketch",
           .help = "Communication sketch instead of a proposed one: a file of TACCL, or its text.",
           .placeholder = "FILE",
           .example = "proposed",
           .isFile = true}};
}

/// Proposed, or as the option says.
Result<sketch::Proposal> sketchFor(const fabric::Fabric& fabric, const OptionValues& values) {
  const std::string given = values.text("sketch");
  if (given.empty()) {
    sketch::ProposalOptions proposal;
    proposal.chunksPerGpu = static_cast<int>(values.integer("chunks-per-gpu").value_or(0));
    return sketch::propose(fabric, proposal);
  }
  const bool isText = given.find_first_not_of(" \t\r\n") == given.find('{');
  const auto text = isText ? Result<std::string>(given) : readText(given, {});
  if (!text) {
    return text.error();
  }
  const auto read = io::readTacclSketch(*text, isText ? std::string() : inputName(given));
  if (!read) {
    return read.error();
  }
  const auto chunkBytes = chunkBytesOf(read->value);
  if (!chunkBytes) {
    return chunkBytes.error();
  }
  return sketch::fit(fabric, read->value, {*chunkBytes, read->value.chunksPerGpu});
}

Result<Made> generateTaccl(const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                           const Progress& progress) {
  auto proposed = sketchFor(fabric, values);
  if (!proposed) {
    return proposed.error();
  }
  taccl::SynthesisOptions options;
  if (values.text("search-engine") == "milp") {
    options.engine = taccl::Engine::stages;
    if (options.effort = values.integer("search-effort"); options.effort) {
      return optionError("search-effort", "it counts schedules of the engine search",
                         "limit the engine milp with --search-time");
    }
  }
  options.seconds = static_cast<double>(values.integer("search-time").value_or(10));
  options.effort = values.integer("search-effort");
  options.seed = static_cast<std::uint64_t>(values.integer("search-seed").value_or(1));
  options.onBetter = [&](const Rational&, const Rational&, double seconds) {
    progress.report("searching", std::min(1.0, seconds / options.seconds));
  };
  auto synthesis = taccl::synthesize(proposed->model, demand.collective, demand.root.value_or(0), options, progress);
  if (!synthesis) {
    return synthesis.error();
  }
  if (progress.isCancelled()) {
    return Error{ErrorCode::cancelled, "cancelled"};
  }
  auto schedule = sketch::stepScheduleOf(proposed->model, synthesis->plan, fabric, proposed->routes);
  if (!schedule) {
    return schedule.error();
  }
  Made made{.schedule = *std::move(schedule), .seconds = {{"searching", synthesis->seconds}}};
  made.dependsOnTime = synthesis->dependsOnTime;
  made.claims.plan = std::make_shared<const PlanClaim>(PlanClaim{proposed->model, synthesis->plan});
  made.facts = [model = std::move(proposed->model), found = *std::move(synthesis)](const LoadedFabric&, const Judged*) {
    return planFacts(model, found, " us");
  };
  return made;
}

}  // namespace

Method tacclMethod() {
  Method method;
  method.id = "taccl";
  method.title = "TACCL";
  method.description =
      "Routes and order, found by a search within a communication sketch that is proposed for the fabric.";
  method.collectives = {Collective::allgather, Collective::reduceScatter, Collective::allreduce, Collective::broadcast,
                        Collective::reduce,    Collective::alltoall,      Collective::gather,    Collective::scatter};
  method.family = Family::search;
  method.options = tacclOptions();
  method.form = ScheduleForm::steps;
  method.timeOption = "search-time";
  method.front = frontOfOne(generateTaccl);
  return method;
}

namespace {

/// Of a bound "flow": the machines that it weighs.
Json weightsByName(const sketch::Model& model, const std::vector<std::int64_t>& weights) {
  Json list = Json::object();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] != 0) {
      list[model.machines[i].name] = weights[i];
    }
  }
  return list;
}

Facts stageFacts(const std::vector<taccl::StageReport>& stages) {
  Fact list{.key = "stages", .value = Json::array()};
  Facts lines;
  for (const taccl::StageReport& stage : stages) {
    Json entry = {{"collective", stage.part},
                  {"stage", stage.stage},
                  {"status", stage.status},
                  {"seconds", stage.seconds},
                  {"makespan", stage.makespan.toString()}};
    if (stage.cost) {
      entry["cost"] = *stage.cost;
    }
    if (stage.bound) {
      entry["bound"] = *stage.bound;
    }
    if (!stage.reason.empty()) {
      entry["reason"] = stage.reason;
    }
    list.value.push_back(std::move(entry));
    lines.push_back({.label = stage.stage,
                     .text = stage.makespan.toString() + " for " + stage.part + ", " + stage.status + ", " +
                             duration(stage.seconds) + (stage.reason.empty() ? "" : " (" + stage.reason + ")")});
  }
  Facts facts;
  facts.push_back(std::move(list));
  append(facts, std::move(lines));
  return facts;
}

}  // namespace

Facts planFacts(const sketch::Model& model, const taccl::Synthesis& synthesis, const std::string& unit) {
  const sketch::Plan& plan = synthesis.plan;
  const bool isReached = plan.makespan == plan.bound;
  Facts facts = {
      {.key = "engine", .value = synthesis.stages.empty() ? "search" : "milp"},
      {.key = "makespan",
       .value = plan.makespan.toString(),
       .label = "makespan",
       .text = plan.makespan.toString() + unit},
      {.key = "bound",
       .value = plan.bound.toString(),
       .label = "bound",
       .text = (isReached ? "reached" : plan.bound.toString()) + " (" + relaxationsOf(plan) + ": " +
               boundMembersOf(plan) + ")"},
      {.key = "gap", .value = gapOf(plan)},
      {.key = "optimal", .value = isReached},
      {.key = "bound_name", .value = relaxationsOf(plan)},
      {.key = "bound_members", .value = boundMembersOf(plan)},
      {.key = "connections", .value = plan.connections},
      {.key = "messages",
       .value = plan.messages.size(),
       .label = "sketch",
       .text = counted(model.gpus(), "GPU") + ", " +
               counted(static_cast<std::int64_t>(plan.messages.size()), "message") + ", " +
               counted(plan.connections, "connection") + " within a node" +
               (model.nics.empty() ? "" : ", whole NICs (not the paper's model)")},
      {.key = "seconds_to_makespan",
       .value = synthesis.secondsToMakespan,
       .label = "search",
       .text = duration(synthesis.seconds) + ", the makespan found after " + duration(synthesis.secondsToMakespan)},
      {.key = "decodes", .value = synthesis.decodes},
      {.key = "share", .value = model.nics.empty() ? "link" : "nic"},
      {.key = "symmetries", .value = plan.symmetries.size()}};
  if (!plan.boundReasons.empty()) {
    Fact weights{.key = "bound_weights", .value = Json::array()};
    for (const sketch::BoundReason& reason : plan.boundReasons) {
      weights.value.push_back(weightsByName(model, reason.weights));
    }
    facts.push_back(std::move(weights));
  }
  if (!synthesis.stages.empty()) {
    append(facts, stageFacts(synthesis.stages));
  }
  return facts;
}

}  // namespace coppice::workflow
