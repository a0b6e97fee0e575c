// SPDX-License-Identifier: Apache-2.0
#include "schedule/step_schedule.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

#include "base/text.hpp"

namespace coppice::schedule {
namespace {

using fabric::NodeIndex;
using fabric::Rank;

template <typename T>
void permute(std::vector<T>& column, const std::vector<std::uint32_t>& order) {
  std::vector<T> sorted(column.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted[i] = column[order[i]];
  }
  column = std::move(sorted);
}

}  // namespace

void TransferList::add(const Transfer& transfer) {
  m_shard.push_back(transfer.shard);
  m_begin.push_back(transfer.begin);
  m_end.push_back(transfer.end);
  m_from.push_back(transfer.from);
  m_to.push_back(transfer.to);
  m_route.push_back(transfer.route);
  m_step.push_back(transfer.step);
  m_reduces.push_back(transfer.reduces ? 1 : 0);
}

void TransferList::reserve(std::size_t count) {
  m_shard.reserve(count);
  m_begin.reserve(count);
  m_end.reserve(count);
  m_from.reserve(count);
  m_to.reserve(count);
  m_route.reserve(count);
  m_step.reserve(count);
  m_reduces.reserve(count);
}

void TransferList::sortBySteps() {
  if (std::is_sorted(m_step.begin(), m_step.end())) {
    return;
  }
  std::vector<std::uint32_t> order(size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return m_step[a] < m_step[b]; });
  permute(m_shard, order);
  permute(m_begin, order);
  permute(m_end, order);
  permute(m_from, order);
  permute(m_to, order);
  permute(m_route, order);
  permute(m_step, order);
  permute(m_reduces, order);
}

Collective collectiveOf(const AnySchedule& schedule) {
  const auto* forest = std::get_if<Schedule>(&schedule);
  return forest ? forest->collective : std::get<StepSchedule>(schedule).goal.collective();
}

std::optional<Rank> rootOf(const AnySchedule& schedule) {
  const auto* forest = std::get_if<Schedule>(&schedule);
  return forest ? forest->root : std::get<StepSchedule>(schedule).goal.root();
}

const Rational& algbwOf(const AnySchedule& schedule) {
  const auto* forest = std::get_if<Schedule>(&schedule);
  return forest ? forest->algbw : std::get<StepSchedule>(schedule).algbw;
}

const std::string& digestOf(const AnySchedule& schedule) {
  const auto* forest = std::get_if<Schedule>(&schedule);
  return forest ? forest->fabricDigest : std::get<StepSchedule>(schedule).fabricDigest;
}

RouteFinder::RouteFinder(const fabric::Fabric& fabric, PathPool& pool)
    : m_fabric(fabric), m_pool(pool), m_firstArc(fabric.nodeCount() + 1, 0), m_routes(fabric.gpuCount()) {
  for (const fabric::Arc& arc : fabric.arcs()) {
    ++m_firstArc[arc.tail + 1];
  }
  std::partial_sum(m_firstArc.begin(), m_firstArc.end(), m_firstArc.begin());
}

PathId RouteFinder::route(Rank from, Rank to) {
  if (m_routes[from].empty()) {
    search(from);
  }
  return m_routes[from][to];
}

void RouteFinder::search(Rank from) {
  std::vector<PathId>& routes = m_routes[from];
  routes.assign(m_fabric.gpuCount(), kNoRoute);
  std::vector<NodeIndex> parent(m_fabric.nodeCount(), -1);
  const NodeIndex start = m_fabric.gpus()[from];
  parent[start] = start;
  std::vector<NodeIndex> queue{start};
  std::vector<NodeIndex> nodes;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const NodeIndex node = queue[head];
    if (node != start && m_fabric.nodes()[node].kind == fabric::NodeKind::gpu) {
      nodes.clear();
      for (NodeIndex at = node; at != start; at = parent[at]) {
        nodes.push_back(at);
      }
      nodes.push_back(start);
      std::reverse(nodes.begin(), nodes.end());
      routes[m_fabric.nodes()[node].rank] = m_pool.add(nodes);
      continue;  // GPUs do not relay
    }
    for (auto arc = m_firstArc[node]; arc < m_firstArc[node + 1]; ++arc) {
      const NodeIndex next = m_fabric.arcs()[arc].head;
      if (parent[next] < 0) {
        parent[next] = node;
        queue.push_back(next);
      }
    }
  }
}

Outcome addRoutes(const fabric::Fabric& fabric, StepSchedule& schedule) {
  RouteFinder finder(fabric, schedule.paths);
  for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
    if (schedule.transfers.routes()[i] != kNoRoute) {
      continue;
    }
    const Rank from = schedule.transfers.senders()[i];
    const Rank to = schedule.transfers.receivers()[i];
    const PathId route = finder.route(from, to);
    if (route == kNoRoute) {
      const auto name = [&](Rank rank) { return inQuotes(fabric.nodes()[fabric.gpus()[rank]].id); };
      return Error{ErrorCode::infeasible,
                   "Only other GPUs join " + name(from) + " and " + name(to),
                   "send through those GPUs, or add a link",
                   {.element = "transfer " + std::to_string(i)}};
    }
    schedule.transfers.setRoute(i, route);
  }
  return Done{};
}

}  // namespace coppice::schedule
