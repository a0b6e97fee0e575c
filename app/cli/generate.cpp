// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include "answer.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "heights_text.hpp"
#include "input.hpp"
#include "judged_text.hpp"
#include "sizes_text.hpp"
#include "text.hpp"
#include "tree_text.hpp"
#include "workflow/clock.hpp"
#include "workflow/forestcoll_method.hpp"
#include "workflow/make_schedule.hpp"

namespace coppice::cli {
namespace {

struct GenerateOptions {
  FabricOptions fabric;
  workflow::DemandText demand;
  std::string method = workflow::kDefaultMethod;
  workflow::Values values;  ///< of the method's options
  std::int64_t showTrees = 0;
  std::string output;
};

/// What limits on height and peers cost together.
void describeLimits(const workflow::OptionValues& values, const schedule::Schedule& schedule,
                    const forestcoll::Optimum& optimum, Answer& answer) {
  const bool isReached = schedule.algbw == optimum.algbw;
  std::string label;
  std::string limits;
  if (const auto height = values.integer("max-height")) {
    answer.json["height_limit"] = *height;
    label = "height cap  ";
    limits = counted(*height, "hop");
  }
  if (const auto peers = values.integer("max-peers")) {
    answer.json["peer_limit"] = *peers;
    label = label.empty() ? "peer limit  " : "limits      ";
    limits += (limits.empty() ? "" : " and ") + counted(*peers, "peer") + " per GPU";
  }
  answer.json["share_of_optimum"] = (schedule.algbw / optimum.algbw).toString();
  answer.json["optimum_algbw"] = toFraction(optimum.algbw);
  answer.json["algbw"] = toFraction(schedule.algbw);
  answer.json["algbw_GBps"] = toGBps(schedule.algbw);
  const Bandwidth bus = busbw(schedule.collective, schedule.algbw, optimum.gpuCount);
  answer.json["busbw"] = toFraction(bus);
  answer.json["busbw_GBps"] = toGBps(bus);
  if (isReached) {
    answer.text += "  " + label + limits + ": reached without loss\n";
    return;
  }
  answer.json["optimal"] = false;
  answer.text += "  " + label + limits + ": the best trees found reach " + gigabytes(schedule.algbw) + ", " +
                 percent(schedule.algbw / optimum.algbw) + " (" + (schedule.algbw / optimum.algbw).toString() +
                 ") of it\n";
}

/// What ForestColl says beside the trees: the optimum, the cuts that prove it, and what limits cost.
Result<Answer> describeForestColl(const GenerateOptions& options, const workflow::OptionValues& values,
                                  const fabric::Fabric& fabric, const workflow::Demand& demand,
                                  const workflow::Made& made, const schedule::Schedule& schedule, bool json,
                                  const Progress& progress) {
  auto request = workflow::forestCollRequest(demand, values);
  if (!request) {
    return request.error();
  }
  if (made.treeCount) {
    request->fixedK = made.treeCount->k;
    request->maxK.reset();
  }
  std::optional<forestcoll::Optimum> free;
  if (const auto unlimited = workflow::withoutTreeLimit(*request)) {
    auto found = forestcoll::optimum(fabric, *unlimited, progress);
    if (!found) {
      return found.error();
    }
    free = *std::move(found);
  }
  const auto tied = cutsOf(fabric, *request, *made.optimum, progress);
  if (!tied) {
    return tied.error();
  }
  Answer answer = describeOptimum(fabric, *request, *made.optimum, *tied, free ? &*free : nullptr, json);
  if (values.integer("max-height") || values.integer("max-peers")) {
    describeLimits(values, schedule, *made.optimum, answer);
  }
  if (made.treeCount) {
    describeTreeCount(options.values.at("sizes"), *made.treeCount, answer.json, answer.text);
  }
  return answer;
}

/// What there is to say of a schedule of any other method: its throughput beside the bound, and its steps.
Answer describeMethod(const workflow::Generator& method, const fabric::Fabric& fabric, const workflow::Judged& judged,
                      bool isWeighted) {
  const workflow::AnySchedule& schedule = judged.made.schedule;
  const Collective collective = schedule::collectiveOf(schedule);
  const Bandwidth& algbw = schedule::algbwOf(schedule);
  const Bandwidth bus = busbw(collective, algbw, fabric.gpuCount());
  Answer answer;
  answer.json = {
      {"ok", true}, {"fabric", fabric.name()}, {"digest", fabric.digest()}, {"collective", toString(collective)}};
  if (const auto root = schedule::rootOf(schedule)) {
    answer.json["root"] = fabric.nodes()[fabric.gpus()[*root]].id;
  }
  answer.json["gpus"] = fabric.gpuCount();
  answer.json["algbw"] = toFraction(algbw);
  answer.json["algbw_GBps"] = toGBps(algbw);
  answer.json["busbw"] = toFraction(bus);
  answer.json["busbw_GBps"] = toGBps(bus);
  answer.text = std::string(toString(collective)) + " " + gigabytes(algbw) + " by " + method.title +
                "\n  fabric      " + named(fabric.name()) + ", " + counted(fabric.gpuCount(), "GPU") +
                "\n  busbw       " + gigabytes(bus) + " as nccl-tests counts it\n";
  if (judged.bound) {
    const bool isOptimal = algbw == *judged.bound;
    answer.json["optimal"] = isOptimal;
    answer.json["optimum_algbw"] = toFraction(*judged.bound);
    answer.json["share_of_optimum"] = (algbw / *judged.bound).toString();
    answer.text += "  optimum     " +
                   (isOptimal ? std::string("reached\n")
                              : gigabytes(*judged.bound) + "; this is " + percent(algbw / *judged.bound) + " of it\n");
  }
  if (judged.made.optimum && !judged.made.optimum->bottlenecks.empty()) {
    const schedule::Cut& cut = judged.made.optimum->bottlenecks.front();
    answer.json["bottleneck_cut"] = idsOf(fabric, cut.nodes);
    answer.json["cut"] = toJson(fabric, collective, cut);
    answer.json["cut"].erase("nodes");
    answer.text += "  bottleneck  " + cutSentence(fabric, collective, cut, isWeighted) + "\n";
  }
  if (judged.stepCost) {
    answer.json["steps"] = judged.stepCost->steps;
    answer.text += "  steps       " + counted(judged.stepCost->steps, "step") + ", " +
                   counted(judged.stepCost->rounds, "round") + "\n";
    describeCost(*judged.stepCost, answer.json, answer.text);
  }
  return answer;
}

/// Trees, the sizes at which runtimes use the program, and the form.
Outcome describeForest(const workflow::OptionValues& values, const fabric::Fabric& fabric,
                       const schedule::Schedule& schedule, const Progress& progress, Answer& answer) {
  describeTrees(fabric, schedule, progress, answer.json, answer.text);
  if (Outcome described = describeUsedSizes(fabric, schedule, answer.json, answer.text); !described) {
    return described;
  }
  if (values.text("form") == "parts" && !values.flag("prune") && answer.json["form"] == "trees") {
    answer.text += "  form        trees: the fabric has no parts by which its trees could be stored\n";
  }
  return Done{};
}

Result<Report> run(const GenerateOptions& options, bool json, const Progress& progress) {
  workflow::Clock clock;
  if (const Outcome kept = keepInput(options.fabric.source, options.output); !kept) {
    return kept.error();
  }
  const workflow::Generator* method = workflow::findGenerator(options.method);
  if (method == nullptr) {
    return workflow::optionError("method", inQuotes(options.method) + " is not a method",
                                 "use one of " + workflow::generatorNames());
  }
  const auto values = workflow::OptionValues::read(method->options, options.values);
  if (!values) {
    return values.error();
  }
  const auto loaded = loadFabric(options.fabric, progress);
  if (!loaded) {
    return loaded.error();
  }
  const fabric::Fabric& fabric = loaded->fabric;
  const auto demand = workflow::readDemand(fabric, options.demand);
  if (!demand) {
    return demand.error();
  }
  Json seconds = {{"load", clock.lap()}};
  const auto judged = workflow::makeSchedule(fabric, *method, *demand, options.values, progress);
  if (!judged) {
    Error error = judged.error();
    if (error.code == ErrorCode::verification) {
      error.fix = "nothing was written; please report this fabric";
    }
    return error;
  }
  for (const forestcoll::StageSeconds& stage : judged->made.seconds) {
    seconds[stage.stage] = stage.seconds;
  }
  seconds["verifying"] = judged->verifying;
  const double total = judged->generating + judged->verifying;
  const auto* const forest = std::get_if<schedule::Schedule>(&judged->made.schedule);
  auto answer = judged->made.optimum && forest != nullptr
                    ? describeForestColl(options, *values, fabric, *demand, judged->made, *forest, json, progress)
                    : Result<Answer>(describeMethod(*method, fabric, *judged, !demand->amounts.empty()));
  if (!answer) {
    return answer.error();
  }
  answer->json["method"] = method->id;
  if (forest != nullptr) {
    if (const Outcome described = describeForest(*values, fabric, *forest, progress, *answer); !described) {
      return described.error();
    }
  }
  answer->json["verified"] = judged->verdict.ok;
  answer->json["bound_proved"] = judged->verdict.boundProved;
  answer->json["verified_by_parts"] = judged->verdict.isByParts;
  answer->text += std::string("  verified    every ") + (forest != nullptr ? "tree" : "transfer") +
                  ", route and link load" +
                  (judged->verdict.isByParts ? ", from the trees of rank 0 and the fabric's symmetries" : "") +
                  (judged->verdict.boundProved ? ", and the bound by max flow or by the trees themselves\n" : "\n");
  seconds["total"] = total;
  answer->json["seconds"] = seconds;
  answer->json["import_findings"] = toJson(loaded->findings);
  answer->text += "  time        " + duration(total) + " with verification\n" +
                  (forest != nullptr ? treeText(fabric, *forest, options.showTrees) : std::string()) +
                  lines(loaded->findings);

  Report report{std::move(answer->json), std::move(answer->text)};
  if (!options.output.empty()) {
    if (const Outcome delivered =
            deliverSchedule(options.output, judged->made.schedule, *loaded, json, progress, report);
        !delivered) {
      return delivered.error();
    }
  }
  return report;
}

}  // namespace

void addGenerate(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "generate", "Generate a verified schedule: by default spanning trees that reach the optimum",
      "  coppice-cli generate examples/2x-dgx-a100.fabric.json -o allgather.forest.json\n"
      "  coppice-cli generate cluster.fabric.json -c allreduce --k-max 8 -o ar.forest.json\n"
      "  coppice-cli generate preset:mi250,boxes=2 --gpus 0-7,16-23 -c reduce --root 0 -o r.forest.json\n"
      "  coppice-cli generate preset:mi250,boxes=2 --max-height 6\n"
      "  coppice-cli generate preset:dgx-a100,boxes=2 -c gather --root b0g3 -o g.schedule.json\n"
      "  coppice-cli generate cluster.fabric.json --sizes pow2 -o ag.forest.json\n"
      "  coppice-cli generate preset:dgx-a100,boxes=128 --max-peers 32 -o large.forest.json");
  auto options = std::make_shared<GenerateOptions>();
  addFabricOptions(sub, options->fabric);
  addDemandOptions(sub, options->demand);
  sub.add_option("--method", options->method, "Method: " + workflow::generatorNames())->capture_default_str();
  for (const workflow::Generator& method : workflow::generators()) {
    addOptions(sub, method.options, options->values,
               method.id == workflow::kDefaultMethod ? std::string() : "OPTIONS of --method " + method.id);
  }
  sub.add_option("--show-trees", options->showTrees, "Print the first N trees with their routes")
      ->check(CLI::Range(0, 1 << 30))
      ->type_name("N");
  sub.add_option("-o,--output", options->output,
                 "Schedule file to write, .forest.json, or .schedule.json for steps; default: none");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
