// SPDX-License-Identifier: Apache-2.0
#include "workflow/judged_schedule.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "schedule/from_forest.hpp"
#include "schedule/min_traffic.hpp"
#include "verify/step_verifier.hpp"

namespace coppice::workflow {
namespace {

/// Steps and cost of a verified forest.
Outcome measureForest(const fabric::Fabric& fabric, const schedule::Schedule& forest, const Progress& progress,
                      Figures& figures) {
  for (const auto* half : {&forest.reduceForest, &forest.broadcastForest}) {
    if (*half) {
      figures.steps += schedule::maxHeight(**half);
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
  figures.cost = *std::move(cost);
  return Done{};
}

/// Where the cost is known.
Outcome findMinTraffic(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule, const Progress& progress,
                       Figures& figures) {
  if (!figures.cost) {
    return Done{};
  }
  const auto* forest = std::get_if<schedule::Schedule>(&schedule);
  const auto goal =
      forest ? schedule::CollectiveTable::make(forest->collective, fabric.gpuCount(), forest->root, forest->amounts)
             : std::get<schedule::StepSchedule>(schedule).goal;
  if (!goal) {
    return goal.error();
  }
  auto min = schedule::minTraffic(fabric, *goal, progress);
  if (!min) {
    return min.error();
  }
  figures.minTraffic = *std::move(min);
  return Done{};
}

void takeCost(std::optional<schedule::StepCost> cost, Figures& figures) {
  if (cost) {
    figures.steps = cost->steps;
    figures.cost = std::move(cost);
  }
}

Result<JudgedSchedule> judgeSteps(const fabric::Fabric& fabric, schedule::AnySchedule schedule,
                                  const Progress& progress) {
  JudgedSchedule judged;
  judged.schedule = std::move(schedule);
  auto verdict = verify::verifySteps(fabric, std::get<schedule::StepSchedule>(judged.schedule), progress);
  if (!verdict) {
    return verdict.error();
  }
  judged.ok = verdict->ok;
  judged.findings = std::move(verdict->findings);
  judged.algbw = verdict->cost ? verdict->cost->algbw : Bandwidth();
  takeCost(std::move(verdict->cost), judged);
  return judged;
}

Result<JudgedSchedule> judgeForest(const fabric::Fabric& fabric, schedule::AnySchedule schedule,
                                   const Progress& progress) {
  JudgedSchedule judged;
  judged.schedule = std::move(schedule);
  auto verdict = judgeSchedule(fabric, std::get<schedule::Schedule>(judged.schedule), progress);
  if (!verdict) {
    return verdict.error();
  }
  judged.ok = verdict->ok;
  judged.findings = std::move(verdict->findings);
  judged.algbw = verdict->algbw;
  if (judged.ok) {
    if (const Outcome done = measureForest(fabric, std::get<schedule::Schedule>(judged.schedule), progress, judged);
        !done) {
      return done.error();
    }
  }
  return judged;
}

}  // namespace

Result<JudgedSchedule> judge(const fabric::Fabric& fabric, schedule::AnySchedule schedule, const Progress& progress,
                             const Claims& claims) {
  auto judged = std::holds_alternative<schedule::StepSchedule>(schedule)
                    ? judgeSteps(fabric, std::move(schedule), progress)
                    : judgeForest(fabric, std::move(schedule), progress);
  if (!judged || !judged->ok) {
    return judged;
  }
  auto claimed = checkClaims(fabric, &judged->schedule, claims, progress);
  if (!claimed) {
    return claimed.error();
  }
  judged->ok = claimed->findings.empty();
  std::ranges::move(claimed->findings, std::back_inserter(judged->findings));
  if (const Outcome found = findMinTraffic(fabric, judged->schedule, progress, *judged); !found) {
    return found.error();
  }
  return judged;
}

Result<JudgedSchedule> requireGood(const fabric::Fabric& fabric, schedule::AnySchedule schedule, const Claims& claims,
                                   const Progress& progress) {
  auto judged = judge(fabric, std::move(schedule), progress, claims);
  return judged && !judged->ok ? Result<JudgedSchedule>(rejected(judged->findings)) : judged;
}

Result<Figures> figuresOf(const fabric::Fabric& fabric, const Judged& judged, const Progress& progress) {
  Figures figures;
  figures.algbw = judged.verdict.algbw;
  if (const auto* forest = std::get_if<schedule::Schedule>(&judged.made.schedule)) {
    if (const Outcome done = measureForest(fabric, *forest, progress, figures); !done) {
      return done.error();
    }
  } else {
    takeCost(judged.stepCost, figures);
  }
  if (const Outcome found = findMinTraffic(fabric, judged.made.schedule, progress, figures); !found) {
    return found.error();
  }
  return figures;
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
