// SPDX-License-Identifier: Apache-2.0
#include "workflow/make_schedule.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/comma_list.hpp"
#include "schedule/to_forest.hpp"
#include "verify/bound_check.hpp"
#include "verify/step_verifier.hpp"
#include "workflow/clock.hpp"
#include "workflow/proved_optimum.hpp"
#include "workflow/request.hpp"

namespace coppice::workflow {
namespace {

/// Up to here one max flow per GPU costs less than a second in all.
constexpr int kMaxFlowGpus = 256;

/// For the linear program that bounds an allreduce by trees.
constexpr std::chrono::milliseconds kAllreduceBudget(2000);

/// Of an allreduce whose halves overlap: what its linear program says, or, where that is not solved, the GPU that all
/// data enter and leave most slowly.
void stateOverlapBound(const fabric::Fabric& fabric, const forestcoll::Optimum& optimum, schedule::Schedule& schedule) {
  schedule.bottlenecks.clear();
  if (optimum.allreduceLimit) {
    schedule.bound = optimum.allreduceLimit->algbw;
  } else {
    const auto rateOf = [&](fabric::NodeIndex gpu) { return std::min(fabric.ingress(gpu), fabric.egress(gpu)); };
    const fabric::NodeIndex slowest =
        *std::min_element(fabric.gpus().begin(), fabric.gpus().end(),
                          [&](fabric::NodeIndex a, fabric::NodeIndex b) { return rateOf(a) < rateOf(b); });
    schedule.bound = rateOf(slowest);
    schedule.bottlenecks = {{.nodes = {slowest}, .demand = 1, .exitBandwidth = schedule.bound}};
  }
  schedule.allreduceBound = schedule.bound;
}

Outcome verifyForest(const fabric::Fabric& fabric, Judged& judged, const Progress& progress) {
  auto& schedule = std::get<schedule::Schedule>(judged.made.schedule);
  // Halves that overlap have no cuts to state; their bound is that of all allreduces.
  const bool isStated = !schedule.bottlenecks.empty() || (schedule.overlapped && schedule.allreduceBound);
  if (!isStated && !judged.made.optimum) {
    if (Outcome stated = stateBound(fabric, schedule, progress); !stated) {
      return stated;
    }
  }
  auto verdict = judgeSchedule(fabric, schedule, progress);
  if (!verdict) {
    return verdict.error();
  }
  judged.verdict = *std::move(verdict);
  return Done{};
}

/// That of a gather or scatter is one max flow to prove.
Outcome proveBoundOfSteps(const fabric::Fabric& fabric, const schedule::StepSchedule& schedule, Judged& judged,
                          const Progress& progress) {
  if (const auto& optimum = judged.made.optimum) {
    judged.bound = optimum->algbw;
    judged.boundScope =
        schedule::boundScope(fabric, schedule.goal.collective(), {!optimum->bottlenecks.empty(), false});
  } else {
    const auto bound = boundOf(fabric, judged.made.schedule, progress);
    if (!bound) {
      return bound.error();
    }
    if (*bound) {
      judged.bound = (*bound)->algbw;
      judged.boundScope = (*bound)->scope;
    }
  }
  if (judged.bound && movesShards(schedule.goal.collective())) {
    const verify::RateVerdict proof = verify::proveShardRate(fabric, schedule.goal, *judged.bound);
    if (proof.proof != verify::RateProof::exact) {
      return Error{ErrorCode::verification, "the bound " + toFraction(*judged.bound) + " GB/s of the " +
                                                std::string(toString(schedule.goal.collective())) +
                                                " did not pass the verifier"};
    }
    judged.verdict.boundProved = true;
  }
  return Done{};
}

Outcome verifySteps(const fabric::Fabric& fabric, Judged& judged, const Progress& progress) {
  const auto& schedule = std::get<schedule::StepSchedule>(judged.made.schedule);
  progress.report("verifying", 0);
  auto verdict = verify::verifySteps(fabric, schedule, progress);
  if (!verdict) {
    return verdict.error();
  }
  judged.stepCost = std::move(verdict->cost);
  judged.verdict.ok = verdict->ok;
  judged.verdict.algbw = judged.stepCost ? judged.stepCost->algbw : Bandwidth();
  judged.verdict.findings = std::move(verdict->findings);
  return Done{};
}

}  // namespace

bool needsMaxFlow(const fabric::Fabric& fabric, const schedule::Schedule& schedule) {
  const bool treesProveBound = schedule.algbw == schedule.bound && !schedule.bottlenecks.empty();
  return fabric.gpuCount() <= kMaxFlowGpus || !treesProveBound;
}

Result<verify::ScheduleVerdict> judgeSchedule(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                              const Progress& progress) {
  progress.report("verifying", 0);
  return verify::verifySchedule(fabric, schedule, {.maxFlow = needsMaxFlow(fabric, schedule)}, progress);
}

Result<verify::ScheduleVerdict> requireVerified(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                                const Progress& progress) {
  auto verdict = judgeSchedule(fabric, schedule, progress);
  if (verdict && !verdict->ok) {
    return rejected(verdict->findings);
  }
  return verdict;
}

Outcome requireVerified(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule, const Progress& progress) {
  if (const auto* forest = std::get_if<schedule::Schedule>(&schedule)) {
    const auto verdict = requireVerified(fabric, *forest, progress);
    return verdict ? Outcome(Done{}) : Outcome(verdict.error());
  }
  progress.report("verifying", 0);
  const auto verdict = verify::verifySteps(fabric, std::get<schedule::StepSchedule>(schedule), progress);
  if (!verdict) {
    return verdict.error();
  }
  return verdict->ok ? Outcome(Done{}) : Outcome(rejected(verdict->findings));
}

namespace {

/// The one reference of every allreduce: what no trees can beat, or where that is not known, what reduce-scatter then
/// allgather reach.
Result<ScopedBound> allreduceReference(const fabric::Fabric& fabric, const Progress& progress) {
  const auto optimum =
      provedOptimum(fabric, {.collective = Collective::allreduce, .allreduceBudget = kAllreduceBudget}, progress);
  if (!optimum) {
    return optimum.error();
  }
  const auto& limit = optimum->allreduceLimit;
  return ScopedBound{limit ? limit->algbw : optimum->algbw,
                     schedule::boundScope(fabric, Collective::allreduce, {.isForTrees = limit.has_value()}),
                     limit && optimum->boundProof};
}

}  // namespace

Outcome stateBound(const fabric::Fabric& fabric, schedule::Schedule& schedule, const Progress& progress) {
  const auto optimum =
      provedOptimum(fabric,
                    {.collective = schedule.collective,
                     .root = schedule.root,
                     .amounts = schedule.amounts,
                     .allreduceBudget = schedule.overlapped ? kAllreduceBudget : std::chrono::milliseconds(0)},
                    progress);
  if (!optimum) {
    return optimum.error();
  }
  if (schedule.overlapped) {
    stateOverlapBound(fabric, *optimum, schedule);
    return Done{};
  }
  schedule.bound = optimum->algbw;
  schedule.bottlenecks = optimum->bottlenecks;
  return Done{};
}

Result<schedule::Schedule> treesOf(const fabric::Fabric& fabric, const schedule::StepSchedule& steps,
                                   const Progress& progress) {
  auto trees = schedule::forestOf(fabric, steps, schedule::kMaxTreeEdges, progress);
  if (!trees) {
    return trees;
  }
  if (const Outcome stated = stateBound(fabric, *trees, progress); !stated) {
    return stated.error();
  }
  if (const auto verdict = requireVerified(fabric, *trees, progress); !verdict) {
    return verdict.error();
  }
  return trees;
}

Result<std::optional<ScopedBound>> boundOf(const fabric::Fabric& fabric, const AnySchedule& schedule,
                                           const Progress& progress) {
  if (schedule::collectiveOf(schedule) == Collective::allreduce) {
    const auto reference = allreduceReference(fabric, progress);
    return reference ? Result<std::optional<ScopedBound>>(*reference) : reference.error();
  }
  if (const auto* forests = std::get_if<schedule::Schedule>(&schedule)) {
    return std::optional(ScopedBound{
        forests->bound, schedule::boundScope(fabric, forests->collective, {.hasCut = !forests->bottlenecks.empty()})});
  }
  const schedule::CollectiveTable& goal = std::get<schedule::StepSchedule>(schedule).goal;
  const Collective collective = goal.collective();
  if (!parseForestCollective(toString(collective)) && !movesShards(collective)) {
    return std::optional<ScopedBound>();
  }
  const auto optimum = forestcoll::optimum(fabric,
                                           {.collective = collective,
                                            .root = goal.root(),
                                            .amounts = {goal.amounts().begin(), goal.amounts().end()},
                                            .allreduceBudget = kAllreduceBudget},
                                           progress);
  if (!optimum) {
    return optimum.error();
  }
  return std::optional(ScopedBound{
      optimum->algbw,
      schedule::boundScope(fabric, collective, {!optimum->bottlenecks.empty(), optimum->boundProof.has_value()})});
}

Result<Judged> judge(const fabric::Fabric& fabric, Made made, const Progress& progress) {
  Judged judged;
  judged.made = std::move(made);
  const Outcome verified = std::holds_alternative<schedule::Schedule>(judged.made.schedule)
                               ? verifyForest(fabric, judged, progress)
                               : verifySteps(fabric, judged, progress);
  if (!verified) {
    return verified.error();
  }
  if (!judged.verdict.ok) {
    return judged;
  }
  auto claims = checkClaims(fabric, &judged.made.schedule, judged.made.claims, progress);
  if (!claims) {
    return claims.error();
  }
  judged.depthCost = std::move(claims->depthCost);
  judged.verdict.ok = claims->findings.empty();
  judged.verdict.boundProved = judged.verdict.boundProved || claims->provesBound;
  std::ranges::move(claims->findings, std::back_inserter(judged.verdict.findings));
  return judged;
}

Result<Judged> requireGood(const fabric::Fabric& fabric, Made made, const Progress& progress) {
  auto judged = judge(fabric, std::move(made), progress);
  return judged && !judged->verdict.ok ? Result<Judged>(rejected(judged->verdict.findings)) : judged;
}

Result<Judged> requireJudged(const fabric::Fabric& fabric, Made made, const Progress& progress) {
  auto judged = requireGood(fabric, std::move(made), progress);
  if (!judged) {
    return judged;
  }
  if (const auto* forests = std::get_if<schedule::Schedule>(&judged->made.schedule)) {
    if (forests->collective == Collective::allreduce) {
      const auto& optimum = judged->made.optimum;
      const Result<ScopedBound> reference =
          optimum && optimum->allreduceLimit && !optimum->ignoresSwitches
              ? Result<ScopedBound>(ScopedBound{optimum->allreduceLimit->algbw, schedule::BoundScope::trees})
              : allreduceReference(fabric, progress);
      if (!reference) {
        return reference.error();
      }
      judged->bound = reference->algbw;
      judged->boundScope = reference->scope;
      judged->verdict.boundProved = judged->verdict.boundProved || reference->isProved;
    } else {
      judged->bound = forests->bound;
      const bool isForTrees = judged->made.optimum && judged->made.optimum->boundProof;
      judged->boundScope =
          schedule::boundScope(fabric, forests->collective, {!forests->bottlenecks.empty(), isForTrees});
    }
  } else if (const Outcome proved =
                 proveBoundOfSteps(fabric, std::get<schedule::StepSchedule>(judged->made.schedule), *judged, progress);
             !proved) {
    return proved.error();
  }
  return judged;
}

namespace {

/// The values of the options, where the method takes the demand. Errors: badUsage.
Result<OptionValues> readAsked(const Method& method, const Demand& demand, const Values& options) {
  if (!method.makes(demand.collective)) {
    const std::string made =
        commaList(method.collectives, [](const Collective collective) { return std::string(toString(collective)); });
    return optionError("collective", method.title + " does not support " + std::string(toString(demand.collective)),
                       "it supports " + made);
  }
  if (!demand.amounts.empty() && !method.hasAmounts) {
    return optionError("amounts", method.title + " gives every GPU the same amount of data",
                       "leave --amounts out, or choose another method");
  }
  return OptionValues::read(method.options, options, demand.collective);
}

}  // namespace

Result<Front> makeFront(const fabric::Fabric& fabric, const Method& method, const Demand& demand, const Values& options,
                        Wanted wanted, const Progress& progress) {
  const auto values = readAsked(method, demand, options);
  return values ? method.front(fabric, demand, *values, wanted, progress) : Result<Front>(values.error());
}

Result<Judged> makeSchedule(const fabric::Fabric& fabric, const Method& method, const Demand& demand,
                            const Values& options, const Progress& progress) {
  Clock clock;
  auto front = makeFront(fabric, method, demand, options, Wanted::one, progress);
  if (!front) {
    return front.error();
  }
  const double generating = clock.lap();
  auto judged = requireJudged(fabric, std::move(front->made.back()), progress);
  if (judged) {
    judged->generating = generating;
    judged->verifying = clock.lap();
  }
  return judged;
}

Result<BestKnown> requireKnown(const fabric::Fabric& fabric, const Method& method, const Demand& demand,
                               const Values& options, const Progress& progress) {
  const auto values = readAsked(method, demand, options);
  if (!values) {
    return values.error();
  }
  auto known = method.known(fabric, demand, *values, progress);
  if (!known) {
    return known;
  }
  progress.report("verifying", 0);
  const auto claims = checkClaims(fabric, nullptr, known->claims, progress);
  if (!claims) {
    return claims.error();
  }
  if (!claims->findings.empty()) {
    return rejected(claims->findings);
  }
  return known;
}

Outcome scanTreeCounts(const fabric::Fabric& fabric, const Demand& demand, std::int64_t first, std::int64_t last,
                       const std::function<void(const KValue&)>& onValue, const Progress& progress) {
  forestcoll::Request request = requestOf(demand);
  request.allreduceBudget = std::chrono::milliseconds(0);
  request.heightEffort = 0;
  Progress quiet = progress;
  quiet.onReport = nullptr;
  for (std::int64_t k = first; k <= last; ++k) {
    throwIfCancelled(progress);
    progress.report("scanning k", static_cast<double>(k - first) / static_cast<double>(last - first + 1));
    request.fixedK = k;
    const auto optimum = forestcoll::optimum(fabric, request, quiet);
    if (!optimum) {
      return optimum.error();
    }
    onValue({k, optimum->algbw});
  }
  return Done{};
}

}  // namespace coppice::workflow
