// SPDX-License-Identifier: Apache-2.0
#include "generate.hpp"

#include <memory>

#include "answer.hpp"
#include "base/text.hpp"
#include "facts_text.hpp"
#include "heights_text.hpp"
#include "input.hpp"
#include "judged_text.hpp"
#include "sizes_text.hpp"
#include "text.hpp"
#include "tree_text.hpp"
#include "workflow/clock.hpp"
#include "workflow/forestcoll_method.hpp"
#include "workflow/judged_schedule.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/sizes.hpp"

namespace coppice::cli {
namespace {

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

/// Trees, and the sizes at which runtimes use the program.
Outcome describeForest(const fabric::Fabric& fabric, const schedule::Schedule& schedule, const Progress& progress,
                       Answer& answer) {
  describeTrees(fabric, schedule, progress, answer.json, answer.text);
  return describeUsedSizes(fabric, schedule, answer.json, answer.text);
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
  if (const Outcome described = describeForest(fabric, schedule, progress, answer); !described) {
    return described.error();
  }
  return answer;
}

/// What there is to say of a schedule of any other method: its throughput beside the bound.
/// @param isAlone no other figures of the schedule follow
workflow::Facts headFacts(const fabric::Fabric& fabric, const workflow::Judged& judged, bool isWeighted, bool isAlone) {
  const workflow::AnySchedule& schedule = judged.made.schedule;
  const Collective collective = schedule::collectiveOf(schedule);
  const Bandwidth& algbw = schedule::algbwOf(schedule);
  workflow::Facts facts = {{.key = "ok", .value = true},
                           {.key = "fabric", .value = fabric.name()},
                           {.key = "digest", .value = fabric.digest()},
                           {.key = "collective", .value = toString(collective)}};
  if (const auto root = schedule::rootOf(schedule)) {
    facts.push_back({.key = "root", .value = fabric.nodes()[fabric.gpus()[*root]].id});
  }
  facts.push_back({.key = "gpus", .value = fabric.gpuCount()});
  workflow::Facts throughput = workflow::throughputFacts(collective, algbw, fabric.gpuCount(), "throughput");
  if (isAlone) {
    facts.push_back({.label = "fabric", .text = named(fabric.name()) + ", " + counted(fabric.gpuCount(), "GPU")});
  }
  workflow::append(facts, isAlone ? std::move(throughput) : workflow::withoutText(std::move(throughput)));
  if (judged.bound) {
    workflow::append(facts, workflow::boundFacts(algbw, *judged.bound, judged.boundScope));
  }
  if (judged.made.optimum && !judged.made.optimum->bottlenecks.empty()) {
    const schedule::Cut& cut = judged.made.optimum->bottlenecks.front();
    Json json = toJson(fabric, collective, cut);
    json.erase("nodes");
    workflow::append(facts, {{.key = "bottleneck_cut",
                              .value = idsOf(fabric, cut.nodes),
                              .label = "bottleneck",
                              .text = cutSentence(fabric, collective, cut, isWeighted)},
                             {.key = "cut", .value = std::move(json)}});
  }
  return facts;
}

/// The time at a size, with a latency for each step.
Result<workflow::Facts> timeFacts(const GenerateOptions& options, const workflow::Judged& judged) {
  if (options.size.empty() && options.latency.empty()) {
    return workflow::Facts();
  }
  const auto bytes = workflow::parseBytes(options.size.empty() ? "0" : options.size, "size");
  if (!bytes) {
    return bytes.error();
  }
  const auto latency = Rational::parse(options.latency.empty() ? "0" : options.latency);
  if (!latency || *latency < Rational(0)) {
    return workflow::optionError("latency", inQuotes(options.latency) + " is not a latency",
                                 "give microseconds, 0 or more, for example 10");
  }
  const auto& cost = judged.depthCost ? judged.depthCost : judged.stepCost;
  if (!cost) {
    return workflow::optionError(options.latency.empty() ? "size" : "latency", "trees have no steps",
                                 "leave it out; simulate gives the times of trees");
  }
  constexpr double kBytesPerMicrosecond = 1000;  // of 1 GB/s
  const double microseconds = (*latency * Rational(cost->steps)).toDouble() +
                              static_cast<double>(*bytes) / kBytesPerMicrosecond / toGBps(cost->algbw);
  return workflow::Facts{{.key = "time_us",
                          .value = microseconds,
                          .label = "at size",
                          .text = duration(microseconds / 1e6) + " for " + workflow::byteSize(*bytes) + " with " +
                                  latency->toString() + " us per step"}};
}

/// The figures of a schedule of any method that does not find the optimum itself, and what its method says of it.
/// Errors: those of figuresOf() and timeFacts().
Result<Answer> describeMade(const GenerateOptions& options, const workflow::Method& method,
                            const workflow::LoadedFabric& loaded, const workflow::Judged& judged, bool isWeighted,
                            const Progress& progress) {
  const fabric::Fabric& fabric = loaded.fabric;
  const auto* forest = std::get_if<schedule::Schedule>(&judged.made.schedule);
  const bool isMeasured = forest == nullptr || (options.isOwnCommand && !judged.depthCost);
  const Keys keys = options.isOwnCommand ? Keys::replace : Keys::keep;
  Answer answer;
  answer.text = std::string(toString(schedule::collectiveOf(judged.made.schedule))) + " " +
                gigabytes(schedule::algbwOf(judged.made.schedule)) + " by " + method.title + "\n";
  const auto add = [&](const workflow::Facts& facts) {
    addFacts(facts, keys, options.showSteps, answer.json, answer.text);
  };
  add(headFacts(fabric, judged, isWeighted, !isMeasured));
  if (forest != nullptr) {
    if (const Outcome described = describeForest(fabric, *forest, progress, answer); !described) {
      return described.error();
    }
  }
  if (isMeasured) {
    const auto figures = workflow::figuresOf(fabric, judged, progress);
    if (!figures) {
      return figures.error();
    }
    add(workflow::factsOf(fabric, judged.made.schedule, *figures));
  }
  if (judged.made.facts) {
    add(judged.made.facts(loaded, &judged));
  }
  const auto times = timeFacts(options, judged);
  if (!times) {
    return times.error();
  }
  add(*times);
  return answer;
}

/// What the method knows without a schedule.
Result<Report> runKnown(const workflow::Method& method, const workflow::Demand& demand,
                        const workflow::LoadedFabric& loaded, const workflow::Values& values,
                        const Progress& progress) {
  workflow::Clock clock;
  const auto known = workflow::requireKnown(loaded.fabric, method, demand, values, progress);
  if (!known) {
    return known.error();
  }
  const double seconds = clock.lap();
  Report report;
  addFacts(known->facts(loaded, nullptr), report);
  report.json["import_findings"] = toJson(loaded.findings);
  report.json["seconds"] = {{"total", seconds}};
  report.text += lines(loaded.findings) + "  time        " + duration(seconds) + "\n";
  return report;
}

}  // namespace

Result<Report> runGenerate(const GenerateOptions& options, bool json, const Progress& progress) {
  workflow::Clock clock;
  if (const Outcome kept = keepInput(options.fabric.source, options.output); !kept) {
    return kept.error();
  }
  if (const Outcome checked = checkGroupOptions(options.groups, options.fabric); !checked) {
    return checked.error();
  }
  if (options.groups.isAny()) {
    if (options.method != workflow::kDefaultMethod || !options.values.empty()) {
      return workflow::optionError("method", "groups have methods of their own", "leave out the options of methods");
    }
    return groupsGenerate(options.groups, options.fabric, options.demand, options.output, progress);
  }
  const workflow::Method* method = workflow::findMethod(options.method);
  if (method == nullptr) {
    return workflow::optionError("method", inQuotes(options.method) + " is not a method",
                                 "use one of " + workflow::methodNames());
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
  if (!options.needsSchedule && options.output.empty()) {
    return runKnown(*method, *demand, *loaded, options.values, progress);
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
  seconds["generating"] = judged->generating;
  seconds["verifying"] = judged->verifying;
  const double total = judged->generating + judged->verifying;
  const auto* const forest = std::get_if<schedule::Schedule>(&judged->made.schedule);
  auto answer = judged->made.optimum && forest != nullptr
                    ? describeForestColl(options, *values, fabric, *demand, judged->made, *forest, json, progress)
                    : describeMade(options, *method, *loaded, *judged, !demand->amounts.empty(), progress);
  if (!answer) {
    return answer.error();
  }
  answer->json["method"] = method->id;
  addFacts(workflow::timeFacts(judged->made.dependsOnTime), Keys::replace, false, answer->json, answer->text);
  answer->json["verified"] = judged->verdict.ok;
  answer->json["bound_proved"] = judged->verdict.boundProved;
  answer->json["verified_by_parts"] = judged->verdict.isBySymmetry;
  answer->text += std::string("  verified    every ") + (forest != nullptr ? "tree" : "transfer") +
                  ", route and link load" +
                  (judged->verdict.isBySymmetry ? ", from the trees of rank 0 and the fabric's symmetries" : "") +
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
            deliverSchedule(options.output, judged->made.schedule, *loaded, {method->id, options.values}, json,
                            progress, report, options.writesTrees);
        !delivered) {
      return delivered.error();
    }
  }
  return report;
}

void addStepOptions(CLI::App& sub, GenerateOptions& options) {
  sub.add_option("--latency", options.latency, "Microseconds per step, for the time of --size");
  sub.add_option("--size", options.size,
                 "Bytes of the whole collective, for example 1MiB: also prints the time at this size");
  sub.add_flag("--show-steps", options.showSteps, "Print the loads of all steps");
}

void addGenerate(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "generate", "Generate a verified schedule: by default spanning trees that reach the optimum",
      "  coppice-cli generate examples/2x-dgx-a100.fabric.json -o allgather.forest.json\n"
      "  coppice-cli generate cluster.fabric.json -c allreduce --k-max 8 -o ar.forest.json\n"
      "  coppice-cli generate preset:mi250,boxes=2 --gpus 0-7,16-23 -c reduce --root 0 -o r.forest.json\n"
      "  coppice-cli generate preset:mi250,boxes=2 --max-height 6\n"
      "  coppice-cli generate preset:dgx-a100,boxes=2 -c gather --root b0g3 -o g.schedule.json\n"
      "  coppice-cli generate cluster.fabric.json --sizes pow2 -o ag.forest.json\n"
      "  coppice-cli generate preset:dgx-a100,boxes=128 --max-peers 32 -o large.forest.json\n"
      "  coppice-cli generate preset:dgx-a100,boxes=2 --mesh 2x8 --axis 1 -o groups");
  auto options = std::make_shared<GenerateOptions>();
  addFabricOptions(sub, options->fabric);
  addDemandOptions(sub, options->demand);
  addGroupOptions(sub, options->groups);
  sub.add_option("--method", options->method, "Method: " + workflow::methodNames())->capture_default_str();
  for (const workflow::Method& method : workflow::methods()) {
    addOptions(sub, method.options, options->values,
               method.id == workflow::kDefaultMethod ? std::string() : "OPTIONS of --method " + method.id);
  }
  addStepOptions(sub, *options);
  sub.add_option("--show-trees", options->showTrees, "Print the first N trees with their routes")
      ->check(CLI::Range(0, 1 << 30))
      ->type_name("N");
  sub.add_option("-o,--output", options->output,
                 "Schedule file to write, .forest.json, or .schedule.json for steps; default: none. With groups: the "
                 "folder for a schedule of each");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return runGenerate(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
