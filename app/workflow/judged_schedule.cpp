// SPDX-License-Identifier: Apache-2.0
#include "workflow/judged_schedule.hpp"

#include <algorithm>
#include <utility>

#include "schedule/from_forest.hpp"
#include "schedule/min_traffic.hpp"
#include "verify/step_verifier.hpp"

namespace coppice::workflow {
namespace {

/// Steps and cost of a verified forest.
Outcome measureForest(const fabric::Fabric& fabric, const Progress& progress, JudgedSchedule& judged) {
  const auto& forest = std::get<schedule::Schedule>(judged.schedule);
  for (const auto* half : {&forest.reduceForest, &forest.broadcastForest}) {
    if (*half) {
      judged.steps += schedule::maxHeight(**half);
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

/// Where the cost is known.
Outcome findMinTraffic(const fabric::Fabric& fabric, const Progress& progress, JudgedSchedule& judged) {
  if (!judged.cost) {
    return Done{};
  }
  const auto* forest = std::get_if<schedule::Schedule>(&judged.schedule);
  const auto goal =
      forest ? schedule::CollectiveTable::make(forest->collective, fabric.gpuCount(), forest->root, forest->amounts)
             : std::get<schedule::StepSchedule>(judged.schedule).goal;
  if (!goal) {
    return goal.error();
  }
  auto min = schedule::minTraffic(fabric, *goal, progress);
  if (!min) {
    return min.error();
  }
  judged.minTraffic = *std::move(min);
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
    judged.algbw = verdict->cost ? verdict->cost->algbw : Bandwidth();
    takeCost(std::move(verdict->cost), judged);
    if (const Outcome found = findMinTraffic(fabric, progress, judged); judged.ok && !found) {
      return found.error();
    }
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
    if (const Outcome found = findMinTraffic(fabric, progress, judged); !found) {
      return found.error();
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
  } else if (const Outcome done = measureForest(fabric, progress, judged); !done) {
    return done.error();
  }
  if (const Outcome found = findMinTraffic(fabric, progress, judged); !found) {
    return found.error();
  }
  return judged;
}

std::vector<BusyLink> busiestLinks(const fabric::Fabric& fabric, const schedule::StepCost& cost, std::size_t count) {
  std::vector<BusyLink> links;
  for (std::size_t arc = 0; arc < cost.traffic.size(); ++arc) {
    if (cost.traffic[arc].isPositive()) {
      links.push_back({static_cast<int>(arc), cost.traffic[arc], cost.traffic[arc] / fabric.arcs()[arc].bandwidth});
    }
  }
  std::stable_sort(links.begin(), links.end(), [](const BusyLink& a, const BusyLink& b) { return b.time < a.time; });
  links.resize(std::min(links.size(), count));
  return links;
}

}  // namespace coppice::workflow
