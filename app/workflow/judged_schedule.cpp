// SPDX-License-Identifier: Apache-2.0
#include "workflow/judged_schedule.hpp"

#include <utility>

#include "schedule/from_forest.hpp"
#include "verify/step_verifier.hpp"

namespace coppice::workflow {
namespace {

/// Steps and cost of a verified forest.
Outcome measureForest(const fabric::Fabric& fabric, const Progress& progress, JudgedSchedule& judged) {
  const auto& forest = std::get<schedule::Schedule>(judged.schedule);
  for (const auto* half : {&forest.reduceForest, &forest.broadcastForest}) {
    if (*half) {
      judged.steps += schedule::heights(**half).logicalMax;
    }
  }
  const auto transfers = schedule::stepScheduleOf(fabric, forest, 1, progress);
  if (!transfers) {
    const ErrorCode code = transfers.error().code;
    const bool isLeftOut = code == ErrorCode::badUsage || code == ErrorCode::limit || code == ErrorCode::overflow;
    return isLeftOut ? Outcome(Done{}) : Outcome(transfers.error());
  }
  auto cost = schedule::stepCost(fabric, *transfers, progress);
  if (!cost) {
    return cost.error();
  }
  judged.cost = *std::move(cost);
  return Done{};
}

void takeCost(std::optional<schedule::StepCost> cost, JudgedSchedule& judged) {
  if (cost) {
    judged.steps = cost->steps;
    judged.cost = std::move(cost);
  }
}

}  // namespace

Result<JudgedSchedule> judge(const fabric::Fabric& fabric, schedule::AnySchedule schedule, const Progress& progress) {
  JudgedSchedule judged;
  judged.schedule = std::move(schedule);
  if (const auto* steps = std::get_if<schedule::StepSchedule>(&judged.schedule)) {
    auto verdict = verify::verifySteps(fabric, *steps, progress);
    if (!verdict) {
      return verdict.error();
    }
    judged.ok = verdict->ok;
    judged.findings = std::move(verdict->findings);
    judged.algbw = verdict->cost ? verdict->cost->algbw : Rational();
    takeCost(std::move(verdict->cost), judged);
    return judged;
  }
  auto verdict = judgeSchedule(fabric, std::get<schedule::Schedule>(judged.schedule), progress);
  if (!verdict) {
    return verdict.error();
  }
  judged.ok = verdict->ok;
  judged.findings = std::move(verdict->findings);
  judged.algbw = verdict->algbw;
  if (judged.ok) {
    if (const Outcome done = measureForest(fabric, progress, judged); !done) {
      return done.error();
    }
  }
  return judged;
}

Result<JudgedSchedule> measured(const fabric::Fabric& fabric, Judged made, const Progress& progress) {
  JudgedSchedule judged;
  judged.schedule = std::move(made.made.schedule);
  judged.ok = made.verdict.ok;
  judged.findings = std::move(made.verdict.findings);
  judged.algbw = made.verdict.algbw;
  if (std::holds_alternative<schedule::StepSchedule>(judged.schedule)) {
    takeCost(std::move(made.stepCost), judged);
    return judged;
  }
  if (const Outcome done = measureForest(fabric, progress, judged); !done) {
    return done.error();
  }
  return judged;
}

}  // namespace coppice::workflow
