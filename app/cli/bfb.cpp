// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "bfb/schedule.hpp"
#include "command.hpp"
#include "input.hpp"
#include "judged_text.hpp"
#include "schedule/rotation.hpp"
#include "schedule/tree_reader.hpp"
#include "text.hpp"
#include "verify/distance_check.hpp"
#include "verify/rule_check.hpp"
#include "verify/step_verifier.hpp"
#include "workflow/bfb_method.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/request.hpp"
#include "workflow/sizes.hpp"

namespace coppice::cli {
namespace {

struct BfbOptions {
  FabricOptions fabric;
  workflow::DemandText demand;
  workflow::Values values;
  std::string latency;
  std::string size;
  bool showSteps = false;
  std::string output;
};

/// A schedule with all that is said of it.
struct Answered {
  bfb::Generated made;
  Bandwidth unit;           ///< of a link that loads are given in
  schedule::StepCost cost;  ///< as the verifier counts it
  Bandwidth bound;
  double generating = 0;
  double verifying = 0;
};

double lap(std::chrono::steady_clock::time_point& since) {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double> seconds = now - std::exchange(since, now);
  return seconds.count();
}

/// One of equal links, as the description states them; nothing where they differ. A file that counts bandwidth in
/// links says so itself.
std::optional<Bandwidth> statedUnit(const fabric::Description& description) {
  const Json extra = Json::parse(description.extra, nullptr, false);
  if (extra.is_object() && extra.value("bandwidth_unit", Json()) == "links") {
    return Bandwidth(1);
  }
  std::optional<Bandwidth> unit;
  for (const fabric::LinkDescription& link : description.links) {
    const auto bandwidth = Bandwidth::parse(link.bandwidth);
    if (!bandwidth || (unit && *unit != *bandwidth)) {
      return std::nullopt;
    }
    unit = *bandwidth;
  }
  return unit;
}

bool hasRelays(const fabric::Fabric& fabric) {
  return fabric.gpuCount() != fabric.nodeCount();
}

/// The distance of the pairs that a step serves.
int distanceOf(const bfb::Generated& made, const bfb::Witness& witness) {
  const auto reducing = std::count_if(made.costs.witnesses.begin(), made.costs.witnesses.end(),
                                      [](const bfb::Witness& each) { return each.isReducing; });
  return witness.isReducing ? static_cast<int>(reducing) - witness.step : witness.step - static_cast<int>(reducing) + 1;
}

std::vector<verify::StepClaim> claimsOf(const fabric::Fabric& fabric, const bfb::Generated& made) {
  std::vector<verify::StepClaim> claims;
  for (const bfb::Witness& witness : made.costs.witnesses) {
    verify::StepClaim claim{distanceOf(made, witness), witness.gpu, witness.isReducing, {}, {}};
    for (const schedule::PathId route : witness.routes) {
      const auto nodes = made.schedule.paths[route];
      claim.arcs.push_back(fabric.findArc(nodes.front(), nodes.back()).value_or(-1));
    }
    claim.time = made.costs.exactLoads[witness.step] / made.costs.unit;
    claims.push_back(std::move(claim));
  }
  return claims;
}

Outcome requireClean(const std::vector<Finding>& findings) {
  if (const Finding* fault = workflow::firstFault(findings); fault != nullptr && hasErrors(findings)) {
    return Error{ErrorCode::verification, "the schedule did not pass the verifier: " + fault->text, {}, fault->where};
  }
  return Done{};
}

/// The loads of the steps as the trees of rank 0 and the rotations show them, and the trees as a forest.
Result<schedule::StepCost> verifyRule(const fabric::Fabric& fabric, const bfb::Generated& made,
                                      const Progress& progress) {
  if (const auto verdict = workflow::requireVerified(fabric, *made.rule, progress); !verdict) {
    return verdict.error();
  }
  schedule::StepCost cost;
  const Rational shards = made.costs.shardsPerCollective;
  for (const auto* forest : {&made.rule->reduceForest, &made.rule->broadcastForest}) {
    if (!*forest) {
      continue;
    }
    const auto times = verify::stepTimesByRule(fabric, **forest, progress);
    if (!times) {
      return times.error();
    }
    for (const InverseBandwidth& time : *times) {
      cost.stepLoads.push_back({-1, time / shards});
      cost.timePerByte += time / shards;
    }
  }
  cost.steps = static_cast<std::int32_t>(cost.stepLoads.size());
  cost.rounds = cost.steps;
  cost.algbw = cost.timePerByte.inverse();
  bool isAsClaimed = cost.steps == made.schedule.stepCount && cost.algbw == made.schedule.algbw;
  for (std::size_t t = 0; isAsClaimed && !made.costs.isTimed && t < cost.stepLoads.size(); ++t) {
    isAsClaimed = cost.stepLoads[t].time * shards * made.costs.unit <= made.costs.loads[t];
  }
  if (!isAsClaimed) {
    return Error{ErrorCode::verification, "the steps of the rule differ from the claimed ones"};
  }
  if (made.costs.isTimed) {
    return cost;
  }
  // The rotations were shown to be symmetries just now.
  const auto findings = verify::checkStepClaims(fabric, claimsOf(fabric, made), progress, true);
  if (!findings) {
    return findings.error();
  }
  if (Outcome clean = requireClean(*findings); !clean) {
    return clean.error();
  }
  return cost;
}

/// Played step by step; and, where the fabric has no relays, every step with the links that keep it from being faster.
Result<schedule::StepCost> verifyAll(const fabric::Fabric& fabric, const bfb::Generated& made,
                                     const Progress& progress) {
  progress.report("verifying", 0);
  auto verdict = verify::verifySteps(fabric, made.schedule, progress);
  if (!verdict) {
    return verdict.error();
  }
  if (Outcome clean = requireClean(verdict->findings); !clean) {
    return clean.error();
  }
  if (hasRelays(fabric) || isRooted(made.schedule.goal.collective()) || made.costs.isTimed) {
    return *std::move(verdict->cost);
  }
  const auto findings = verify::checkStepClaims(fabric, claimsOf(fabric, made), progress);
  if (!findings) {
    return findings.error();
  }
  if (Outcome clean = requireClean(*findings); !clean) {
    return clean.error();
  }
  return *std::move(verdict->cost);
}

Result<Answered> answer(const workflow::LoadedFabric& loaded, const bfb::Request& request, const Progress& progress) {
  auto since = std::chrono::steady_clock::now();
  auto made = bfb::generate(loaded.fabric, request, progress);
  if (!made) {
    return made.error();
  }
  Answered answered{*std::move(made), {}, {}, {}, lap(since), 0};
  if (answered.made.rule && answered.made.rule->bottlenecks.empty()) {
    if (Outcome stated = workflow::stateBound(loaded.fabric, *answered.made.rule, progress); !stated) {
      return stated.error();
    }
  }
  auto cost = answered.made.rule ? verifyRule(loaded.fabric, answered.made, progress)
                                 : verifyAll(loaded.fabric, answered.made, progress);
  if (!cost) {
    return cost.error();
  }
  answered.cost = *std::move(cost);
  answered.verifying = lap(since);
  answered.unit = hasRelays(loaded.fabric) ? answered.made.costs.unit
                                           : statedUnit(loaded.description).value_or(answered.made.costs.unit);
  // What every GPU must take in alone shows that nothing is faster.
  answered.bound = answered.made.schedule.algbw;
  if (answered.made.rule) {
    answered.bound = answered.made.rule->bound;
  } else if (!answered.made.isBandwidthOptimal()) {
    auto bound = workflow::boundOf(loaded.fabric, answered.made.schedule, progress);
    if (!bound) {
      return bound.error();
    }
    answered.bound = bound->value_or(answered.bound);
    if (answered.bound < answered.made.schedule.algbw) {
      return Error{ErrorCode::internal, "the schedule would be faster than the cuts of the fabric allow"};
    }
  }
  return answered;
}

Json textsOf(const std::vector<Rational>& values, const Rational& factor) {
  Json list = Json::array();
  for (const Rational& value : values) {
    list.push_back((value * factor).toString());
  }
  return list;
}

/// Smallest T with 1 + d + ... + d^T >= N; 0 where the degree is not a whole number.
int mooreSteps(const Rational& degree, int nodes) {
  if (!degree.isInteger()) {
    return 0;
  }
  Int128 reached = 1;
  Int128 level = 1;
  int steps = 0;
  while (reached < nodes) {
    level *= degree.numerator();
    reached += level;
    ++steps;
  }
  return steps;
}

Json witnessJson(const fabric::Fabric& fabric, const bfb::Generated& made, const bfb::Witness& witness,
                 const Rational& factor) {
  Json links = Json::array();
  for (const schedule::PathId route : witness.routes) {
    links.push_back(idsOf(fabric, made.schedule.paths[route]));
  }
  return {{"step", witness.step + 1},
          {"node", fabric.nodes()[fabric.gpus()[witness.gpu]].id},
          {"direction", witness.isReducing ? "sends" : "receives"},
          {"jobs", witness.shards},
          {"width", (Rational(witness.width) / factor).toString()},
          {"links", std::move(links)}};
}

/// Steps whose load is above the mean that a GPU gets in it, so that T_B is above (N-1)/N.
std::vector<const bfb::Witness*> uneven(const bfb::Generated& made) {
  std::vector<const bfb::Witness*> list;
  for (std::size_t t = 0; t < made.costs.exactLoads.size(); ++t) {
    const Rational mean(made.costs.deliveries[t], made.gpuCount);
    if (made.costs.exactLoads[t] * Rational(made.costs.degree) > mean) {
      list.push_back(&made.costs.witnesses[t]);
    }
  }
  return list;
}

/// With latencies: how long each step takes, in microseconds.
void describeTimes(const Answered& answered, std::int64_t bytes, Report& report) {
  const bfb::Costs& costs = answered.made.costs;
  const ExactMicroseconds perShard = transferTime(Rational(bytes) / costs.shardsPerCollective, costs.unit);
  ExactMicroseconds sum(0);
  for (const Rational& load : costs.loads) {
    sum += load * perShard;
  }
  report.json["step_times_us"] = textsOf(costs.loads, perShard.count());
  report.json["planned_us"] = sum.count().toString();
  report.text += "  planned     " + duration(sum.count().toDouble() / 1e6) + " for " + workflow::byteSize(bytes) +
                 ", with the latencies of the links\n";
}

void describeSteps(const fabric::Fabric& fabric, const Answered& answered, bool showSteps, Report& report) {
  const bfb::Costs& costs = answered.made.costs;
  const Rational factor = answered.unit / costs.unit;
  std::vector<Rational> stepLoads;
  for (const schedule::StepLoad& step : answered.cost.stepLoads) {
    stepLoads.push_back(step.time * costs.shardsPerCollective * answered.unit);
  }
  report.json["step_loads"] = textsOf(stepLoads, Rational(1));
  if (!hasRelays(fabric)) {
    report.json["step_loads_exact"] = textsOf(costs.exactLoads, factor);
  }
  Json witnesses = Json::array();
  const auto shown = uneven(answered.made);
  for (const bfb::Witness* witness : shown) {
    witnesses.push_back(witnessJson(fabric, answered.made, *witness, factor));
  }
  report.json["uneven_steps"] = std::move(witnesses);
  std::string loads;
  constexpr std::size_t kMaxShown = 16;
  for (std::size_t t = 0; t < stepLoads.size() && (showSteps || t < kMaxShown); ++t) {
    loads += (t > 0 ? " " : "") + stepLoads[t].toString();
  }
  loads += !showSteps && stepLoads.size() > kMaxShown ? " ... (--show-steps)" : "";
  report.text += "  loads       " + loads + " shards per link of " + gigabytes(answered.unit) + ", step by step\n";
  for (std::size_t i = 0; i < shown.size() && (showSteps || i < 3); ++i) {
    const bfb::Witness& witness = *shown[i];
    report.text += "  uneven      step " + std::to_string(witness.step + 1) + ": " +
                   inQuotes(fabric.nodes()[fabric.gpus()[witness.gpu]].id) +
                   (witness.isReducing ? " sends the sums of " : " gets ") + counted(witness.shards, "shard") +
                   " over links of " + gigabytes(Rational(witness.width) * costs.unit) + " alone\n";
  }
}

std::int64_t transfersOf(const schedule::Schedule& rule) {
  std::int64_t transfers = 0;
  for (const auto* forest : {&rule.reduceForest, &rule.broadcastForest}) {
    transfers += *forest ? schedule::sizeOf(**forest).edges : 0;
  }
  return transfers;
}

/// How the schedule is stored where one GPU stands for all.
void describeRule(const bfb::Generated& made, Report& report) {
  report.json["by_rule"] = made.rule.has_value();
  if (!made.rule) {
    return;
  }
  const auto& forest = made.rule->broadcastForest ? *made.rule->broadcastForest : *made.rule->reduceForest;
  Json rotations = Json::array();
  std::string shifts;
  for (const schedule::Rotation& rotation : schedule::rotationsIn(*forest.factored)) {
    rotations.push_back({rotation.step, rotation.count});
    shifts += (shifts.empty() ? "" : " x ") + std::to_string(rotation.count);
  }
  const std::int64_t trees = schedule::rotatedTrees(forest);
  report.json["rotations"] = std::move(rotations);
  report.json["trees_of_a_root"] = trees;
  report.json["forest_algbw"] = toFraction(made.rule->algbw);
  report.text += "  by rule     " + counted(trees, "tree") + " of one GPU, mapped to all others by rotations of " +
                 shifts + " ranks; " + gigabytes(made.rule->algbw) + " pipelined\n";
}

void describe(const fabric::Fabric& fabric, const Answered& answered, Report& report) {
  const bfb::Generated& made = answered.made;
  const bfb::Costs& costs = made.costs;
  const Collective collective = made.schedule.goal.collective();
  const Rational time = Rational(costs.degree) * costs.unit / made.schedule.algbw;
  const Rational planned = costs.bandwidthTime(costs.loads);
  const Rational exact = costs.bandwidthTime(costs.exactLoads);
  const Rational degree = Rational(costs.degree) * costs.unit / answered.unit;
  const Rational loss = planned / exact - Rational(1);
  const int moore = mooreSteps(degree, made.gpuCount);
  report.json["collective"] = toString(collective);
  if (made.schedule.goal.root()) {
    report.json["root"] = *made.schedule.goal.root();
  }
  report.json["gpus"] = made.gpuCount;
  report.json["steps"] = made.schedule.stepCount;
  report.json["t_b"] = time.toString();
  if (!hasRelays(fabric) && !costs.isTimed) {
    report.json["t_b_exact"] = exact.toString();
  }
  report.json["chunks"] = made.chunks;
  report.json["loss"] = loss.toString();
  report.json["bw_optimal"] = made.isBandwidthOptimal();
  report.json["degree"] = degree.toString();
  report.json["link_GBps"] = toFraction(answered.unit);
  if (moore > 0 && !isRooted(collective)) {
    report.json["moore_steps"] = collective == Collective::allreduce ? 2 * moore : moore;
  }
  report.json["algbw"] = toFraction(made.schedule.algbw);
  report.json["algbw_GBps"] = toGBps(made.schedule.algbw);
  report.json["optimum_algbw"] = toFraction(answered.bound);
  report.json["share_of_optimum"] = (made.schedule.algbw / answered.bound).toString();
  report.json["transfers"] =
      made.rule ? transfersOf(*made.rule) : static_cast<std::int64_t>(made.schedule.transfers.size());
  report.json["verified"] = true;
  report.text += "  schedule    BFB " + std::string(toString(collective)) + " on " + named(fabric.name()) + ", " +
                 counted(made.gpuCount, "GPU") + "\n";
  report.json["routes"] = costs.routes;
  for (std::size_t i = 0; i < costs.routes.size() && !costs.routes[i].empty(); ++i) {
    const bool isRepeated = i > 0 && costs.routes[i] == costs.routes[i - 1];
    report.text += isRepeated ? std::string() : "  routes      " + costs.routes[i] + "\n";
  }
  report.text += "  steps       " + std::to_string(made.schedule.stepCount) + "\n";
  report.text += "  T_B         " + time.toString() + " M/B" + (made.isBandwidthOptimal() ? ", optimal" : "") +
                 " (B = " + gigabytes(Rational(costs.degree) * costs.unit) + ", the links of a GPU)\n";
  report.text += "  throughput  " + gigabytes(made.schedule.algbw) + ", " +
                 percent(made.schedule.algbw / answered.bound) + " of the optimum " + gigabytes(answered.bound) + "\n";
  report.text += "  chunks      " + std::to_string(made.chunks) + " per shard" +
                 (costs.isTimed   ? ""
                  : loss.isZero() ? ", no loss"
                                  : "; " + percent(loss) + " more time than with more chunks") +
                 "\n";
  describeRule(made, report);
}

/// T steps of a latency and M bytes at algbw.
Outcome describeTime(const BfbOptions& options, const Answered& answered, Report& report) {
  if (options.size.empty() && options.latency.empty()) {
    return Done{};
  }
  const auto bytes = workflow::parseBytes(options.size.empty() ? "0" : options.size, "size");
  if (!bytes) {
    return bytes.error();
  }
  const auto latency = Rational::parse(options.latency.empty() ? "0" : options.latency);
  if (!latency || *latency < Rational(0)) {
    return Error{ErrorCode::badUsage,
                 inQuotes(options.latency) + " is not a latency",
                 "give microseconds, 0 or more, for example 10",
                 {.element = {RefKind::option, "--latency"}}};
  }
  constexpr double kBytesPerMicrosecond = 1000;  // of 1 GB/s
  const double microseconds = (*latency * Rational(answered.made.schedule.stepCount)).toDouble() +
                              static_cast<double>(*bytes) / kBytesPerMicrosecond / toGBps(answered.made.schedule.algbw);
  report.json["time_us"] = microseconds;
  report.text += "  at size     " + duration(microseconds / 1e6) + " for " + workflow::byteSize(*bytes) + " with " +
                 latency->toString() + " us per step\n";
  return Done{};
}

/// What is written: the trees where the schedule is stored by rule, or where they are asked for.
Result<schedule::AnySchedule> scheduleOf(const fabric::Fabric& fabric, const Answered& answered, bool wantsTrees,
                                         const Progress& progress, Report& report) {
  if (answered.made.rule) {
    return schedule::AnySchedule(*answered.made.rule);
  }
  if (!wantsTrees) {
    return schedule::AnySchedule(answered.made.schedule);
  }
  auto trees = workflow::treesOf(fabric, answered.made.schedule, progress);
  if (!trees) {
    return trees.error();
  }
  describeTrees(*trees, report);
  return schedule::AnySchedule(*std::move(trees));
}

Result<Report> run(const BfbOptions& options, bool json, const Progress& progress) {
  if (!options.output.empty()) {
    if (const Outcome kept = keepInput(options.fabric.source, options.output); !kept) {
      return kept.error();
    }
  }
  const auto loaded = loadFabric(options.fabric, progress);
  if (!loaded) {
    return loaded.error();
  }
  const auto demand = workflow::readDemand(loaded->fabric, options.demand);
  if (!demand) {
    return demand.error();
  }
  const auto values = workflow::OptionValues::read(workflow::bfbOptions(), options.values);
  if (!values) {
    return values.error();
  }
  const auto request = workflow::bfbRequest(*demand, *values);
  if (!request) {
    return request.error();
  }
  const auto answered = answer(*loaded, *request, progress);
  if (!answered) {
    return answered.error();
  }
  Report report;
  describe(loaded->fabric, *answered, report);
  if (request->bytes) {
    describeTimes(*answered, *request->bytes, report);
  } else {
    describeSteps(loaded->fabric, *answered, options.showSteps, report);
  }
  if (const Outcome timed = describeTime(options, *answered, report); !timed) {
    return timed.error();
  }
  report.json["import_findings"] = toJson(loaded->findings);
  report.json["seconds"] = {{"generating", answered->generating}, {"verifying", answered->verifying}};
  report.text += lines(loaded->findings) + "  time        " + duration(answered->generating) + " to generate, " +
                 duration(answered->verifying) + " to verify\n";
  if (!options.output.empty()) {
    const auto schedule = scheduleOf(loaded->fabric, *answered, values->flag("trees"), progress, report);
    if (!schedule) {
      return schedule.error();
    }
    if (const Outcome written = deliverSchedule(options.output, *schedule, *loaded, json, progress, report); !written) {
      return written.error();
    }
  }
  return report;
}

}  // namespace

void addBfb(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "bfb", "Generate a breadth-first broadcast schedule for directly linked GPUs, with exact loads",
      "  coppice-cli bfb preset:torus,dims=4x4\n"
      "  coppice-cli bfb preset:hypercube,dimension=6 -c allreduce --chunks 2 --json\n"
      "  coppice-cli bfb preset:dgx-a100,boxes=2 --through-switches -o bfb.schedule.json\n"
      "  coppice-cli bfb preset:hypercube,dimension=6 -o bfb.forest.json\n"
      "  coppice-cli bfb preset:circulant,nodes=100000,jumps=223,224 --json");
  auto options = std::make_shared<BfbOptions>();
  addFabricOptions(sub, options->fabric);
  addDemandOptions(sub, options->demand);
  addOptions(sub, workflow::bfbOptions(), options->values);
  sub.add_option("--latency", options->latency, "Microseconds per step, for the time of --size");
  sub.add_option("--size", options->size,
                 "Bytes of the whole collective, for example 1MiB: also prints the time at this size");
  sub.add_flag("--show-steps", options->showSteps, "Print the loads of all steps");
  sub.add_option("-o,--output", options->output,
                 "Write the schedule to this file, with the name ending in .forest.json as trees; - for "
                 "standard output");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
