// SPDX-License-Identifier: Apache-2.0
#include "workflow/bfb_facts.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "schedule/rotation.hpp"
#include "schedule/tree_reader.hpp"
#include "workflow/sizes.hpp"

namespace coppice::workflow {
namespace {

bool hasRelays(const fabric::Fabric& fabric) {
  return fabric.gpuCount() != fabric.nodeCount();
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

/// The distance of the pairs that a step serves.
int distanceOf(const bfb::Generated& made, const bfb::Witness& witness) {
  const auto reducing = std::count_if(made.costs.witnesses.begin(), made.costs.witnesses.end(),
                                      [](const bfb::Witness& each) { return each.isReducing; });
  return witness.isReducing ? static_cast<int>(reducing) - witness.step : witness.step - static_cast<int>(reducing) + 1;
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

Json witnessJson(const fabric::Fabric& fabric, const bfb::Generated& made, const bfb::Witness& witness,
                 const Rational& factor) {
  Json links = Json::array();
  for (const schedule::PathId route : witness.routes) {
    Json ids = Json::array();
    for (const fabric::NodeIndex node : made.schedule.paths[route]) {
      ids.push_back(fabric.nodes()[node].id);
    }
    links.push_back(std::move(ids));
  }
  return {{"step", witness.step + 1},
          {"node", fabric.nodes()[fabric.gpus()[witness.gpu]].id},
          {"direction", witness.isReducing ? "sends" : "receives"},
          {"jobs", witness.shards},
          {"width", (Rational(witness.width) / factor).toString()},
          {"links", std::move(links)}};
}

/// With latencies: how long each step takes, in microseconds.
Facts plannedTimeFacts(const bfb::Costs& costs, std::int64_t bytes) {
  const ExactMicroseconds perShard = transferTime(Rational(bytes) / costs.shardsPerCollective, costs.unit);
  ExactMicroseconds sum(0);
  for (const Rational& load : costs.loads) {
    sum += load * perShard;
  }
  return {{.key = "step_times_us", .value = textsOf(costs.loads, perShard.count())},
          {.key = "planned_us",
           .value = sum.count().toString(),
           .label = "planned",
           .text = duration(sum.count().toDouble() / 1e6) + " for " + byteSize(bytes) +
                   ", with the latencies of the links"}};
}

Facts stepFacts(const fabric::Fabric& fabric, const schedule::StepCost& cost, const bfb::Generated& made,
                const Bandwidth& unit) {
  constexpr std::size_t kMaxLoads = 16;
  constexpr std::size_t kMaxUneven = 3;
  const bfb::Costs& costs = made.costs;
  const Rational factor = unit / costs.unit;
  std::vector<Rational> stepLoads;
  for (const schedule::StepLoad& step : cost.stepLoads) {
    stepLoads.push_back(step.time * costs.shardsPerCollective * unit);
  }
  const auto line = [&](std::size_t count) {
    std::string loads;
    for (std::size_t t = 0; t < std::min(count, stepLoads.size()); ++t) {
      loads += (t > 0 ? " " : "") + stepLoads[t].toString();
    }
    return loads + (count < stepLoads.size() ? " ... (--show-steps)" : "") + " shards per link of " + gigabytes(unit) +
           ", step by step";
  };
  Facts facts = {{.key = "step_loads",
                  .value = textsOf(stepLoads, Rational(1)),
                  .label = "loads",
                  .text = line(kMaxLoads),
                  .full = line(stepLoads.size())}};
  if (!hasRelays(fabric)) {
    facts.push_back({.key = "step_loads_exact", .value = textsOf(costs.exactLoads, factor)});
  }
  Fact list{.key = "uneven_steps", .value = Json::array()};
  Facts lines;
  for (const bfb::Witness* witness : uneven(made)) {
    list.value.push_back(witnessJson(fabric, made, *witness, factor));
    const std::string text =
        "step " + std::to_string(witness->step + 1) + ": " + inQuotes(fabric.nodes()[fabric.gpus()[witness->gpu]].id) +
        (witness->isReducing ? " sends the sums of " : " gets ") + counted(witness->shards, "shard") +
        " over links of " + gigabytes(Rational(witness->width) * costs.unit) + " alone";
    lines.push_back({.label = "uneven", .text = lines.size() < kMaxUneven ? text : std::string(), .full = text});
  }
  facts.push_back(std::move(list));
  append(facts, std::move(lines));
  return facts;
}

/// How the schedule is stored where one GPU stands for all.
Facts ruleFacts(const schedule::Schedule& rule) {
  const auto& forest = rule.broadcastForest ? *rule.broadcastForest : *rule.reduceForest;
  Json rotations = Json::array();
  std::string shifts;
  for (const schedule::Rotation& rotation : forest.rotations) {
    rotations.push_back({rotation.step, rotation.count});
    shifts += (shifts.empty() ? "" : " x ") + std::to_string(rotation.count);
  }
  const auto trees = static_cast<std::int64_t>(forest.trees.size());
  return {{.key = "rotations", .value = std::move(rotations)},
          {.key = "trees_of_a_root",
           .value = trees,
           .label = "by rule",
           .text = counted(trees, "tree") + " of one GPU, mapped to all others by rotations of " + shifts + " ranks; " +
                   gigabytes(rule.algbw) + " pipelined"},
          {.key = "forest_algbw", .value = toFraction(rule.algbw)}};
}

std::int64_t edgesOf(const schedule::Schedule& rule) {
  std::int64_t transfers = 0;
  for (const auto* forest : {&rule.reduceForest, &rule.broadcastForest}) {
    transfers += *forest ? schedule::sizeOf(**forest).edges : 0;
  }
  return transfers;
}

Facts routeFacts(const bfb::Costs& costs) {
  Facts facts = {{.key = "routes", .value = costs.routes}};
  for (std::size_t i = 0; i < costs.routes.size() && !costs.routes[i].empty(); ++i) {
    if (i == 0 || costs.routes[i] != costs.routes[i - 1]) {
      facts.push_back({.label = "routes", .text = costs.routes[i]});
    }
  }
  return facts;
}

/// Steps and time of the whole. @param unit of a link that loads are given in
Facts bfbCostFacts(const fabric::Fabric& fabric, const bfb::Generated& made, const Bandwidth& unit) {
  const bfb::Costs& costs = made.costs;
  const Collective collective = made.schedule.goal.collective();
  const Bandwidth links = Rational(costs.degree) * costs.unit;
  const Rational time = links / made.schedule.algbw;
  const Rational exact = costs.bandwidthTime(costs.exactLoads);
  const Rational degree = links / unit;
  const Rational loss = costs.bandwidthTime(costs.loads) / exact - Rational(1);
  const bool isOptimal = made.isBandwidthOptimal() && schedule::boundScope(fabric, collective, {.hasCut = true}) !=
                                                          schedule::BoundScope::plainSwitches;
  Facts facts = {
      {.key = "steps",
       .value = made.schedule.stepCount,
       .label = "BFB",
       .text = counted(made.schedule.stepCount, "step") + " on shortest paths, " + gigabytes(made.schedule.algbw)},
      {.key = "t_b",
       .value = time.toString(),
       .label = "T_B",
       .text = time.toString() + " M/B" + (isOptimal ? ", optimal" : "") + " (B = " + gigabytes(links) +
               ", the links of a GPU)"}};
  if (!hasRelays(fabric) && !costs.isTimed) {
    facts.push_back({.key = "t_b_exact", .value = exact.toString()});
  }
  append(facts, {{.key = "chunks",
                  .value = made.chunks,
                  .label = "chunks",
                  .text = std::to_string(made.chunks) + " per shard" +
                          (costs.isTimed   ? ""
                           : loss.isZero() ? ", no loss"
                                           : "; " + percent(loss) + " more time than with more chunks")},
                 {.key = "loss", .value = loss.toString()},
                 {.key = "bw_optimal", .value = made.isBandwidthOptimal()},
                 {.key = "degree", .value = degree.toString()},
                 {.key = "link_GBps", .value = toFraction(unit)}});
  if (const int moore = mooreSteps(degree, made.gpuCount); moore > 0 && !isRooted(collective)) {
    facts.push_back({.key = "moore_steps", .value = collective == Collective::allreduce ? 2 * moore : moore});
  }
  return facts;
}

}  // namespace

Claims bfbClaims(const fabric::Fabric& fabric, const bfb::Generated& made) {
  Claims claims;
  const bfb::Costs& costs = made.costs;
  if (made.rule) {
    claims.depths = {.steps = made.schedule.stepCount,
                     .algbw = made.schedule.algbw,
                     .shardsPerCollective = costs.shardsPerCollective};
    for (std::size_t t = 0; !costs.isTimed && t < costs.loads.size(); ++t) {
      claims.depths->atMost.push_back(costs.loads[t] / costs.unit);
    }
  }
  if (hasRelays(fabric) || isRooted(made.schedule.goal.collective()) || costs.isTimed) {
    return claims;
  }
  for (const bfb::Witness& witness : costs.witnesses) {
    verify::StepClaim claim{distanceOf(made, witness), witness.gpu, witness.isReducing, {}, {}};
    for (const schedule::PathId route : witness.routes) {
      const auto nodes = made.schedule.paths[route];
      claim.arcs.push_back(fabric.findArc(nodes.front(), nodes.back()).value_or(-1));
    }
    claim.time = costs.exactLoads[witness.step] / costs.unit;
    claims.steps.push_back(std::move(claim));
  }
  return claims;
}

Facts bfbFacts(const LoadedFabric& loaded, const Judged& judged, const bfb::Generated& made, std::int64_t transfers,
               std::optional<std::int64_t> bytes) {
  const fabric::Fabric& fabric = loaded.fabric;
  const Bandwidth unit = hasRelays(fabric) ? made.costs.unit : statedUnit(loaded.description).value_or(made.costs.unit);
  const Collective collective = made.schedule.goal.collective();
  const Bandwidth& algbw = made.schedule.algbw;
  Facts facts = routeFacts(made.costs);
  append(facts, bfbCostFacts(fabric, made, unit));
  append(facts, withoutText(throughputFacts(collective, algbw, made.gpuCount, {})));
  if (judged.bound) {
    append(facts, withoutText(boundFacts(algbw, *judged.bound, judged.boundScope)));
  }
  const auto* rule = judged.depthCost ? std::get_if<schedule::Schedule>(&judged.made.schedule) : nullptr;
  append(facts, {{.key = "transfers", .value = rule != nullptr ? edgesOf(*rule) : transfers},
                 {.key = "by_rule", .value = rule != nullptr}});
  if (rule != nullptr) {
    append(facts, ruleFacts(*rule));
  }
  const auto& cost = judged.depthCost ? judged.depthCost : judged.stepCost;
  if (bytes) {
    append(facts, plannedTimeFacts(made.costs, *bytes));
  } else if (cost) {
    append(facts, stepFacts(fabric, *cost, made, unit));
  }
  return facts;
}

}  // namespace coppice::workflow
