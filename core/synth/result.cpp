// SPDX-License-Identifier: Apache-2.0
#include "synth/result.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "schedule/step_cost.hpp"

namespace coppice::synth {
namespace {

using schedule::PathId;
using schedule::StepSchedule;
using schedule::Transfer;

/// Adds the sends, neighbouring chunks that travel together as one transfer.
void addSends(StepSchedule& result, const Problem& problem, std::int64_t n, const Steps& steps, bool isReversed,
              int firstStep, bool isOneShard) {
  auto sends = steps.sends;
  std::sort(sends.begin(), sends.end(), [](const Send& a, const Send& b) {
    return std::tie(a.step, a.arc, a.chunk) < std::tie(b.step, b.arc, b.chunk);
  });
  const int last = static_cast<int>(steps.rounds.size()) - 1;
  std::map<int, PathId> routes;
  for (std::size_t i = 0; i < sends.size();) {
    const Send& send = sends[i];
    const LogicalArc& arc = problem.topology.arcs[send.arc];
    std::size_t end = i + 1;
    while (end < sends.size() && sends[end].step == send.step && sends[end].arc == send.arc &&
           sends[end].chunk == sends[end - 1].chunk + 1 && (isOneShard || sends[end].chunk / n == send.chunk / n)) {
      ++end;
    }
    auto [route, isNew] = routes.try_emplace(send.arc, 0);
    if (isNew) {
      std::vector<fabric::NodeIndex> nodes = arc.nodes;
      if (isReversed) {
        std::reverse(nodes.begin(), nodes.end());
      }
      route->second = result.paths.add(nodes);
    }
    Transfer transfer;
    transfer.shard = isOneShard ? 0 : send.chunk / n;
    transfer.begin = isOneShard ? send.chunk : send.chunk % n;
    transfer.end = transfer.begin + static_cast<std::int64_t>(end - i);
    transfer.from = isReversed ? arc.to : arc.from;
    transfer.to = isReversed ? arc.from : arc.to;
    transfer.route = route->second;
    transfer.step = firstStep + (isReversed ? last - send.step : send.step);
    transfer.reduces = isReversed;
    result.transfers.add(transfer);
    i = end;
  }
  auto rounds = steps.rounds;
  if (isReversed) {
    std::reverse(rounds.begin(), rounds.end());
  }
  result.rounds.insert(result.rounds.end(), rounds.begin(), rounds.end());
}

Result<StepSchedule> finished(const fabric::Fabric& fabric, StepSchedule schedule, const Progress& progress) {
  schedule.method = "sccl";
  schedule.fabricName = fabric.name();
  schedule.fabricDigest = fabric.digest();
  schedule.stepCount = static_cast<std::int32_t>(schedule.rounds.size());
  schedule.transfers.sortBySteps();
  const auto cost = schedule::stepCost(fabric, schedule, progress);
  if (!cost) {
    return cost.error();
  }
  schedule.algbw = cost->algbw;
  return schedule;
}

}  // namespace

Result<StepSchedule> scheduleOf(const fabric::Fabric& fabric, const schedule::CollectiveTable& goal,
                                const Problem& problem, std::int64_t n, const Steps& steps, const Progress& progress) {
  StepSchedule schedule;
  schedule.goal = goal;
  schedule.denominator = n;
  addSends(schedule, problem, n, steps, dualOf(goal.collective()) != goal.collective(), 0, false);
  return finished(fabric, std::move(schedule), progress);
}

Result<StepSchedule> scheduleOfHalves(const fabric::Fabric& fabric, const Problem& transposed,
                                      const Steps& reduceScatter, const Problem& problem, const Steps& allgather,
                                      std::int64_t n, const Progress& progress) {
  StepSchedule schedule;
  auto goal = schedule::CollectiveTable::make(Collective::allreduce, fabric.gpuCount());
  if (!goal) {
    return goal.error();
  }
  schedule.goal = *std::move(goal);
  schedule.denominator = n * fabric.gpuCount();
  addSends(schedule, transposed, n, reduceScatter, true, 0, true);
  addSends(schedule, problem, n, allgather, false, static_cast<int>(reduceScatter.rounds.size()), true);
  return finished(fabric, std::move(schedule), progress);
}

Result<StepSchedule> scheduleOfDirect(const fabric::Fabric& fabric, const Topology& topology, std::int64_t slots,
                                      const DirectSteps& steps, const Progress& progress) {
  StepSchedule schedule;
  auto goal = schedule::CollectiveTable::make(Collective::allreduce, fabric.gpuCount());
  if (!goal) {
    return goal.error();
  }
  schedule.goal = *std::move(goal);
  schedule.denominator = slots;
  schedule.rounds.assign(steps.rounds.begin(), steps.rounds.end());
  std::map<int, PathId> routes;
  for (const Message& message : steps.messages) {
    const LogicalArc& arc = topology.arcs[message.arc];
    auto [route, isNew] = routes.try_emplace(message.arc, 0);
    if (isNew) {
      route->second = schedule.paths.add(arc.nodes);
    }
    schedule.transfers.add(
        {0, message.slot, message.slot + 1, arc.from, arc.to, route->second, message.step, message.reduces});
  }
  return finished(fabric, std::move(schedule), progress);
}

}  // namespace coppice::synth
