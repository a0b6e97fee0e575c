// SPDX-License-Identifier: Apache-2.0
#include "workflow/baseline.hpp"

#include <utility>

#include "baselines/baselines.hpp"
#include "schedule/from_forest.hpp"
#include "verify/step_verifier.hpp"
#include "workflow/make_schedule.hpp"

namespace coppice::workflow {
namespace {

void takeCost(const schedule::StepCost& cost, JudgedSchedule& judged) {
  judged.steps = cost.steps;
  judged.maxStretch = cost.maxStretch;
  judged.meanStretch = cost.meanStretch;
  judged.totalTraffic = cost.totalTraffic;
}

/// Traffic and stretch of a forest, as those of its transfers; left out where switches copy or sum up.
Outcome measureForest(const fabric::Fabric& fabric, const schedule::Schedule& forest, const Progress& progress,
                      JudgedSchedule& judged) {
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
  const std::int64_t steps = judged.steps;
  const auto cost = schedule::stepCost(fabric, *transfers, progress);
  if (!cost) {
    return cost.error();
  }
  takeCost(*cost, judged);
  judged.steps = steps;
  return Done{};
}

}  // namespace

Result<JudgedSchedule> judge(const fabric::Fabric& fabric, schedule::AnySchedule schedule, const Progress& progress) {
  JudgedSchedule judged;
  if (const auto* forest = std::get_if<schedule::Schedule>(&schedule)) {
    auto verdict = judgeSchedule(fabric, *forest, progress);
    if (!verdict) {
      return verdict.error();
    }
    judged.ok = verdict->ok;
    judged.findings = std::move(verdict->findings);
    judged.algbw = verdict->algbw;
    if (judged.ok) {
      if (const Outcome measured = measureForest(fabric, *forest, progress, judged); !measured) {
        return measured.error();
      }
    }
  } else {
    auto verdict = verify::verifySteps(fabric, std::get<schedule::StepSchedule>(schedule), progress);
    if (!verdict) {
      return verdict.error();
    }
    judged.ok = verdict->ok;
    judged.findings = std::move(verdict->findings);
    if (verdict->cost) {
      judged.algbw = verdict->cost->algbw;
      takeCost(*verdict->cost, judged);
    }
  }
  if (judged.algbw.isPositive()) {
    judged.timePerByte = judged.algbw.inverse();
  }
  judged.schedule = std::move(schedule);
  return judged;
}

Result<JudgedSchedule> makeBaseline(std::string_view name, const fabric::Fabric& fabric, Collective collective,
                                    std::optional<fabric::Rank> root, const Progress& progress) {
  auto made = baselines::generate(name, fabric, {collective, root}, progress);
  if (!made) {
    return made.error();
  }
  auto judged = judge(fabric, std::move(*made), progress);
  if (judged && !judged->ok) {
    const Finding* fault = firstFault(judged->findings);
    return Error{ErrorCode::verification, fault ? fault->text : "the verifier refuses the schedule",
                 "please report this fabric", fault ? fault->where : Place{}};
  }
  return judged;
}

}  // namespace coppice::workflow
