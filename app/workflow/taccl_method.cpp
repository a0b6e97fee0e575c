// SPDX-License-Identifier: Apache-2.0
#include "workflow/taccl_method.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "io/taccl_json.hpp"
#include "sketch/propose.hpp"
#include "taccl/synthesis.hpp"
#include "verify/plan_check.hpp"
#include "workflow/fabric_source.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/sketch_plan.hpp"

namespace coppice::workflow {
namespace {

std::vector<Option> tacclOptions() {
  return {{.name = "search-time",
           .title = "Seconds to search",
           .help = "Maximum search time in seconds; the search ends early when it reaches the bound.",
           .kind = OptionKind::integer,
           .defaultText = "10",
           .min = 1,
           .max = 86400,
           .placeholder = "SECONDS"},
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
           .help = "Seed of the random choices; the same seed gives the same result.",
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
           .placeholder = "FILE"}};
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
  if (!demand.amounts.empty()) {
    return optionError("amounts", "TACCL gives every GPU the same amount of data",
                       "leave --amounts out, or choose another method");
  }
  const auto proposed = sketchFor(fabric, values);
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
  const auto synthesis =
      taccl::synthesize(proposed->model, demand.collective, demand.root.value_or(0), options, progress);
  if (!synthesis) {
    return synthesis.error();
  }
  if (progress.isCancelled()) {
    return Error{ErrorCode::cancelled, "cancelled"};
  }
  const auto verdict = verify::checkPlan(proposed->model, synthesis->plan, progress);
  if (!verdict) {
    return verdict.error();
  }
  if (!verdict->ok) {
    return Error{ErrorCode::verification, describe(*firstFault(verdict->findings)), "please report this fabric"};
  }
  auto schedule = sketch::stepScheduleOf(proposed->model, synthesis->plan, fabric, proposed->routes);
  if (!schedule) {
    return schedule.error();
  }
  return Made{.schedule = *std::move(schedule), .seconds = {{"searching", synthesis->seconds}}};
}

}  // namespace

Generator tacclMethod() {
  Generator method;
  method.id = "taccl";
  method.title = "TACCL";
  method.description =
      "Routes and order, found by a search within a communication sketch that is proposed for the fabric.";
  method.collectives = {Collective::allgather, Collective::reduceScatter, Collective::allreduce, Collective::broadcast,
                        Collective::reduce,    Collective::alltoall,      Collective::gather,    Collective::scatter};
  method.options = tacclOptions();
  method.form = ScheduleForm::steps;
  method.generate = generateTaccl;
  return method;
}

}  // namespace coppice::workflow
