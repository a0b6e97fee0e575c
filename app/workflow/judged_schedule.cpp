// SPDX-License-Identifier: Apache-2.0
#include "workflow/judged_schedule.hpp"

#include <algorithm>
#include <utility>

#include "schedule/from_forest.hpp"
#include "schedule/min_traffic.hpp"

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

}  // namespace

Result<JudgedSchedule> measured(const fabric::Fabric& fabric, Judged judged, const Progress& progress) {
  auto figures = figuresOf(fabric, judged, progress);
  if (!figures) {
    return figures.error();
  }
  return JudgedSchedule{*std::move(figures), std::move(judged.made.schedule)};
}

Result<Figures> figuresOf(const fabric::Fabric& fabric, const Judged& judged, const Progress& progress) {
  Figures figures;
  figures.algbw = judged.verdict.algbw;
  if (const auto* forest = std::get_if<schedule::Schedule>(&judged.made.schedule)) {
    if (const Outcome done = measureForest(fabric, *forest, progress, figures); !done) {
      return done.error();
    }
  } else {
    figures.cost = judged.stepCost;
    figures.steps = judged.stepCost ? judged.stepCost->steps : 0;
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
