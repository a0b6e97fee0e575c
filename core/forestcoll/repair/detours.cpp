// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/repair/detours.hpp"

#include <algorithm>
#include <limits>

#include "schedule/forest.hpp"

namespace coppice::forestcoll {

using fabric::NodeIndex;
using std::int64_t;

DetourFinder::DetourFinder(const fabric::Fabric& fabric, std::span<const int64_t> room)
    : m_room(room),
      m_arcs(fabric, schedule::Direction::out),
      m_toRelays(static_cast<std::size_t>(fabric.nodeCount()),
                 [&](const auto& add) {
                   for (std::size_t i = 0; i < fabric.arcs().size(); ++i) {
                     const fabric::Arc& arc = fabric.arcs()[i];
                     if (fabric.nodes()[arc.head].kind != fabric::NodeKind::gpu) {
                       add(arc.tail, static_cast<std::int32_t>(i));
                     }
                   }
                 }),
      m_ways(static_cast<std::size_t>(fabric.nodeCount())) {
  for (const fabric::Arc& arc : fabric.arcs()) {
    m_heads.push_back(arc.head);
  }
}

/// @param left room of the arc to the node
void DetourFinder::reach(NodeIndex node, NodeIndex before, int64_t left) {
  Way& way = m_ways[node];
  const Way& from = m_ways[before];
  const int64_t width = std::min(from.width, left);
  if (way.round != m_round) {
    way = {m_round, from.hops + 1, width, before};
    m_queue.push_back(node);
  } else if (way.hops == from.hops + 1 && way.width < width) {
    way.width = width;
    way.before = before;
  }
}

std::span<const NodeIndex> DetourFinder::find(NodeIndex from, NodeIndex to, int64_t copies,
                                              std::span<const int64_t> load) {
  ++m_round;
  m_ways[from] = {m_round, 0, std::numeric_limits<int64_t>::max(), from};
  m_queue.assign(1, from);
  m_route.clear();
  for (std::size_t i = 0; i < m_queue.size() && m_queue[i] != to; ++i) {
    const NodeIndex node = m_queue[i];
    const auto arcs = m_toRelays[static_cast<std::size_t>(node)];
    m_work += arcs.size() + 1;
    for (const std::int32_t arc : arcs) {
      if (const int64_t left = m_room[arc] - load[arc]; left >= copies) {
        reach(m_heads[arc], node, left);
      }
    }
    const std::int32_t last = m_arcs.find(node, to);
    if (last != schedule::kNoArc && m_room[last] - load[last] >= copies) {
      reach(to, node, m_room[last] - load[last]);
    }
  }
  if (m_ways[to].round == m_round) {
    for (NodeIndex node = to; node != from; node = m_ways[node].before) {
      m_route.push_back(node);
    }
    m_route.push_back(from);
    std::reverse(m_route.begin(), m_route.end());
  }
  return m_route;
}

}  // namespace coppice::forestcoll
