// SPDX-License-Identifier: Apache-2.0
#include "schedule/step_routes.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "base/checked.hpp"
#include "base/text.hpp"

namespace coppice::schedule {

using fabric::NodeIndex;
using fabric::Rank;

RouteFinder::RouteFinder(const fabric::Fabric& fabric, PathPool& pool)
    : m_fabric(fabric),
      m_pool(pool),
      m_firstOut(rowStarts(fabric.nodeCount(), fabric.arcs(), &fabric::Arc::tail)),
      m_in(numbersByRow(fabric.nodeCount(), fabric.arcs(), &fabric::Arc::head)),
      m_use(fabric.arcs().size(), 0),
      m_hops(fabric.nodeCount(), -1),
      m_routes(fabric.gpuCount()) {
  for (const fabric::Arc& arc : fabric.arcs()) {
    m_rate.push_back(toGBps(arc.bandwidth));
  }
}

PathId RouteFinder::route(Rank from, Rank to) {
  constexpr PathId kNotLookedFor = -2;
  std::vector<PathId>& routes = m_routes[from];
  if (routes.empty()) {
    routes.assign(m_fabric.gpuCount(), kNotLookedFor);
  }
  if (routes[to] == kNotLookedFor) {
    const auto nodes = nodesBetween(m_fabric.gpus()[from], m_fabric.gpus()[to]);
    routes[to] = nodes.empty() ? kNoRoute : m_pool.add(nodes);
  }
  return routes[to];
}

std::vector<NodeIndex> RouteFinder::nodesBetween(NodeIndex from, NodeIndex to) {
  if (m_measured.empty() || m_measured.front() != from) {
    for (const NodeIndex node : m_measured) {
      m_hops[node] = -1;
    }
    m_measured = {from};
    m_nextHead = 0;
    m_hops[from] = 0;
  }
  measureTo(to);
  return m_hops[to] < 0 ? std::vector<NodeIndex>() : walkBack(from, to);
}

/// Breadth first, so that all that is nearer is measured when `to` is.
void RouteFinder::measureTo(NodeIndex to) {
  const NodeIndex from = m_measured.front();
  for (; m_hops[to] < 0 && m_nextHead < m_measured.size(); ++m_nextHead) {
    const NodeIndex node = m_measured[m_nextHead];
    if (node != from && m_fabric.nodes()[node].kind == fabric::NodeKind::gpu) {
      continue;  // GPUs do not relay
    }
    for (auto arc = m_firstOut[node]; arc < m_firstOut[node + 1]; ++arc) {
      const NodeIndex next = m_fabric.arcs()[arc].head;
      if (m_hops[next] < 0) {
        m_hops[next] = m_hops[node] + 1;
        m_measured.push_back(next);
      }
    }
  }
}

std::vector<NodeIndex> RouteFinder::walkBack(NodeIndex from, NodeIndex to) {
  std::vector<NodeIndex> nodes{to};
  while (nodes.back() != from) {
    const NodeIndex node = nodes.back();
    std::int32_t best = -1;
    for (const std::int32_t arc : m_in[node]) {
      const NodeIndex tail = m_fabric.arcs()[arc].tail;
      const bool isRelay = tail == from || m_fabric.nodes()[tail].kind != fabric::NodeKind::gpu;
      if (isRelay && m_hops[tail] == m_hops[node] - 1 &&
          (best < 0 || (m_use[arc] + 1) * m_rate[best] < (m_use[best] + 1) * m_rate[arc])) {
        best = arc;
      }
    }
    m_use[best] += 1;
    nodes.push_back(m_fabric.arcs()[best].tail);
  }
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

Result<StepSchedule> cutInto(const StepSchedule& schedule, std::uint32_t pieces) {
  if (pieces == 0) {
    return Error{ErrorCode::badUsage, "A transfer needs at least one piece"};
  }
  const std::size_t max = std::numeric_limits<std::int32_t>::max() / pieces;
  if (schedule.transfers.size() > max) {
    return Error{ErrorCode::limit, "The schedule would have more than 2^31 transfers", "ask for fewer pieces"};
  }
  StepSchedule cut = schedule;
  cut.transfers = {};
  cut.keepsOrder = !schedule.isSynchronous;
  cut.transfers.reserve(schedule.transfers.size() * pieces);
  try {
    cut.denominator = checkedMul(schedule.denominator, std::int64_t{pieces});
  } catch (const OverflowError&) {
    return Error{ErrorCode::overflow, "The pieces have no common denominator within 64 bits", "ask for fewer pieces"};
  }
  for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
    Transfer piece = schedule.transfers[i];
    const std::int64_t begin = piece.begin * pieces;
    const std::int64_t length = piece.end - piece.begin;
    for (std::uint32_t p = 0; p < pieces; ++p) {
      piece.begin = begin + p * length;
      piece.end = piece.begin + length;
      cut.transfers.add(piece);
    }
  }
  return cut;
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
                   {.element = {RefKind::transfer, i}}};
    }
    schedule.transfers.setRoute(i, route);
  }
  return Done{};
}

}  // namespace coppice::schedule
