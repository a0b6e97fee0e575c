// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "schedule/step_cost.hpp"
#include "sketch/fabric_of.hpp"

namespace coppice::sketch {
namespace {

/// Where a chunk lies in the table of the collective.
struct Piece {
  std::int64_t shard = 0;
  std::int64_t begin = 0;
};

Piece pieceOf(const Model& model, Collective collective, int chunk) {
  const std::int64_t place = chunk / model.chunksPerGpu;
  const std::int64_t k = chunk % model.chunksPerGpu;
  switch (collective) {
    case Collective::allreduce:
      return {0, chunk};
    case Collective::broadcast:
    case Collective::reduce:
      return {0, k};
    default:
      return {place, k};
  }
}

}  // namespace

Result<schedule::StepSchedule> stepScheduleOf(const Model& model, const Plan& plan, const fabric::Fabric& fabric,
                                              const std::vector<std::vector<fabric::NodeIndex>>& routes) {
  if (fabric.gpuCount() != model.gpus() || routes.size() != model.links.size()) {
    return Error{ErrorCode::badUsage,
                 "the sketch is of " + std::to_string(model.gpus()) + " GPUs, the fabric has " +
                     std::to_string(fabric.gpuCount()),
                 "use the fabric that the sketch is made for"};
  }
  schedule::StepSchedule schedule;
  const std::optional<fabric::Rank> root = isRooted(plan.collective) ? std::optional(plan.root) : std::nullopt;
  auto goal = schedule::CollectiveTable::make(plan.collective, model.gpus(), root);
  if (!goal) {
    return goal.error();
  }
  schedule.goal = *std::move(goal);
  schedule.method = "taccl";
  schedule.fabricName = fabric.name();
  schedule.fabricDigest = fabric.digest();
  schedule.denominator =
      plan.collective == Collective::allreduce ? std::int64_t{model.chunksPerGpu} * model.gpus() : model.chunksPerGpu;
  schedule.isSynchronous = false;
  schedule.keepsOrder = true;
  schedule.stepCount = plan.collective == Collective::allreduce ? 2 : 1;
  std::vector<schedule::PathId> paths;
  for (const std::vector<fabric::NodeIndex>& route : routes) {
    paths.push_back(schedule.paths.add(route));
  }
  std::vector<std::size_t> order(plan.messages.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Message& x = plan.messages[a];
    const Message& y = plan.messages[b];
    return x.phase != y.phase ? x.phase < y.phase : x.start < y.start;
  });
  for (const std::size_t i : order) {
    const Message& message = plan.messages[i];
    const Link& link = model.links[message.link];
    for (const int chunk : message.chunks) {
      const Piece piece = pieceOf(model, plan.collective, chunk);
      schedule.transfers.add({piece.shard, piece.begin, piece.begin + 1, link.from, link.to, paths[message.link],
                              message.phase, message.reduces});
    }
  }
  const auto cost = schedule::stepCost(fabric, schedule);
  if (!cost) {
    return cost.error();
  }
  schedule.algbw = cost->algbw;
  return schedule;
}

Result<schedule::StepSchedule> stepScheduleOf(const Model& model, const Plan& plan, const fabric::Fabric& fabric,
                                              const std::vector<std::vector<std::string>>& routes) {
  std::vector<std::vector<fabric::NodeIndex>> nodes;
  for (const std::vector<std::string>& route : routes) {
    nodes.emplace_back();
    for (const std::string& id : route) {
      const auto node = fabric.find(id);
      if (!node) {
        return Error{ErrorCode::badUsage, "the fabric has no node " + id, "use the fabric that the sketch is made for"};
      }
      nodes.back().push_back(*node);
    }
  }
  return stepScheduleOf(model, plan, fabric, nodes);
}

}  // namespace coppice::sketch
