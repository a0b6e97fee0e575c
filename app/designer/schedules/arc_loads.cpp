// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/arc_loads.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/checked.hpp"
#include "schedule/arc_finder.hpp"
#include "schedule/link_loads.hpp"

namespace coppice::designer {
namespace {

void addForest(const fabric::Fabric& fabric, const schedule::Forest& forest, std::size_t half, bool hasOwnCopies,
               std::vector<ArcLoad>& loads, const Progress& progress) {
  const std::vector<std::int64_t> trees = schedule::linkLoads(fabric, forest, {.ownCopies = hasOwnCopies}, progress);
  for (std::size_t arc = 0; arc < trees.size(); ++arc) {
    loads[arc].trees[half] = trees[arc];
  }
  for (ArcLoad& load : loads) {
    load.rates[half] = Rational(load.trees[half]) / forest.scale;
  }
}

std::vector<ArcLoad> unloaded(const fabric::Fabric& fabric) {
  std::vector<ArcLoad> loads;
  loads.reserve(fabric.arcs().size());
  for (const fabric::Arc& arc : fabric.arcs()) {
    ArcLoad load;
    load.tail = arc.tail;
    load.head = arc.head;
    load.bandwidth = arc.bandwidth;
    loads.push_back(load);
  }
  return loads;
}

/// @param isAtOnce both halves run at the same time
void markBusiest(std::vector<ArcLoad>& loads, bool isAtOnce = false) {
  Rational max;
  for (ArcLoad& load : loads) {
    load.rate = isAtOnce ? load.rates[0] + load.rates[1] : std::max(load.rates[0], load.rates[1]);
    max = std::max(max, load.rate / load.bandwidth);
  }
  for (ArcLoad& load : loads) {
    load.isBusiest = max.isPositive() && load.rate / load.bandwidth == max;
  }
}

/// Calls `visit` with each arc that the transfer passes.
template <typename Visit>
void forEachArc(const schedule::StepSchedule& schedule, const schedule::ArcFinder& arcs,
                const schedule::Transfer& transfer, const Visit& visit) {
  if (transfer.route == schedule::kNoRoute) {
    return;
  }
  const std::span<const fabric::NodeIndex> path = schedule.paths[transfer.route];
  for (std::size_t hop = 0; hop + 1 < path.size(); ++hop) {
    if (const std::int32_t arc = arcs.find(path[hop], path[hop + 1]); arc != schedule::kNoArc) {
      visit(static_cast<std::size_t>(arc));
    }
  }
}

}  // namespace

std::vector<ArcLoad> arcLoads(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                              const Progress& progress) {
  std::vector<ArcLoad> loads = unloaded(fabric);
  if (schedule.reduceForest) {
    addForest(fabric, *schedule.reduceForest, 0, schedule.ownCopies, loads, progress);
  }
  if (schedule.broadcastForest) {
    addForest(fabric, *schedule.broadcastForest, 1, schedule.ownCopies, loads, progress);
  }
  markBusiest(loads, schedule.overlapped);
  return loads;
}

std::vector<ArcLoad> arcLoads(const fabric::Fabric& fabric, const schedule::StepSchedule& schedule,
                              const schedule::StepCost& cost) {
  std::vector<ArcLoad> loads = unloaded(fabric);
  const schedule::ArcFinder arcs(fabric, schedule::Direction::out);
  for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
    forEachArc(schedule, arcs, schedule.transfers[i], [&](std::size_t arc) { ++loads[arc].trees[0]; });
  }
  for (std::size_t arc = 0; arc < loads.size(); ++arc) {
    loads[arc].rates[0] = cost.traffic[arc] * cost.algbw;
  }
  markBusiest(loads);
  return loads;
}

std::vector<ArcLoad> arcLoadsInStep(const fabric::Fabric& fabric, const schedule::StepSchedule& schedule,
                                    const schedule::StepCost& cost, std::int32_t step) {
  std::vector<ArcLoad> loads = unloaded(fabric);
  const schedule::ArcFinder arcs(fabric, schedule::Direction::out);
  const InverseBandwidth& time = cost.stepLoads[step].time;
  const auto steps = schedule.transfers.steps();
  const auto [first, last] = std::equal_range(steps.begin(), steps.end(), step);
  for (auto at = first; at != last && time.isPositive(); ++at) {
    const schedule::Transfer transfer = schedule.transfers[at - steps.begin()];
    const Rational bytes =
        schedule.goal.share(transfer.shard) * Rational(transfer.end - transfer.begin) / Rational(schedule.denominator);
    forEachArc(schedule, arcs, transfer, [&](std::size_t arc) {
      ++loads[arc].trees[0];
      loads[arc].rates[0] += bytes / time;
    });
  }
  markBusiest(loads);
  return loads;
}

}  // namespace coppice::designer
