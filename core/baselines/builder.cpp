// SPDX-License-Identifier: Apache-2.0
#include "baselines/builder.hpp"

#include <utility>

#include "base/text.hpp"
#include "schedule/step_cost.hpp"

namespace coppice::baselines {
namespace {

/// What makes the collective where GPUs must pass on data for others.
std::string followingLinks(Collective collective) {
  switch (collective) {
    case Collective::alltoall:
      return "choose two-level, where GPUs pass on data, or the method alltoall, which routes over GPUs";
    case Collective::gather:
    case Collective::scatter:
      return "choose the method forestcoll, which routes over GPUs";
    case Collective::broadcast:
    case Collective::reduce:
      return "choose a baseline that follows the links (blink, shifted-ring)";
    default:
      break;
  }
  return "choose a baseline that follows the links (multitree, shifted-ring)";
}

}  // namespace

using fabric::Rank;
using schedule::PathId;

Builder::Builder(std::string_view name, const fabric::Fabric& fabric, const Request& request, const Progress& progress)
    : m_fabric(fabric), m_request(request), m_progress(progress), m_finder(fabric, m_schedule.paths) {
  m_schedule.goal = orThrow(schedule::CollectiveTable::make(
      request.collective, fabric.gpuCount(), isRooted(request.collective) ? request.root : std::nullopt));
  m_schedule.method = name;
  m_schedule.fabricName = fabric.name();
  m_schedule.fabricDigest = fabric.digest();
}

void Builder::send(int step, std::int64_t shard, Rank from, Rank to, bool reduces) {
  send(step, shard, 0, m_schedule.denominator, from, to, reduces);
}

void Builder::send(int step, std::int64_t shard, std::int64_t begin, std::int64_t end, Rank from, Rank to,
                   bool reduces) {
  send(step, shard, begin, end, from, to, route(from, to), reduces);
}

void Builder::send(int step, std::int64_t shard, std::int64_t begin, std::int64_t end, Rank from, Rank to, PathId route,
                   bool reduces) {
  if (m_schedule.transfers.size() % 65536 == 0) {
    throwIfCancelled(m_progress);
  }
  m_schedule.transfers.add({shard, begin, end, from, to, route, step, reduces});
}

PathId Builder::addRoute(std::span<const fabric::NodeIndex> nodes) {
  return m_schedule.paths.add(nodes);
}

PathId Builder::addRoutes(const schedule::PathPool& routes) {
  const PathId first = m_schedule.paths.size();
  for (PathId route = 0; route < routes.size(); ++route) {
    m_schedule.paths.add(routes[route]);
  }
  return first;
}

PathId Builder::route(Rank from, Rank to) {
  const PathId route = m_finder.route(from, to);
  if (route == schedule::kNoRoute) {
    const auto name = [&](Rank rank) { return inQuotes(m_fabric.nodes()[m_fabric.gpus()[rank]].id); };
    refuse("Only other GPUs join " + name(from) + " and " + name(to) + ", which " + m_schedule.method +
               " sends between directly",
           followingLinks(collective()));
  }
  return route;
}

schedule::StepSchedule Builder::finish() {
  m_schedule.transfers.sortBySteps();
  m_schedule.stepCount = m_schedule.transfers.empty() ? 1 : m_schedule.transfers.steps().back() + 1;
  m_schedule.algbw = orThrow(schedule::stepCost(m_fabric, m_schedule, m_progress)).algbw;
  return std::move(m_schedule);
}

void Builder::refuse(std::string message, std::string fix) const {
  throw Failure{Error{ErrorCode::infeasible, std::move(message), std::move(fix)}};
}

}  // namespace coppice::baselines
