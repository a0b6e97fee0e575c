// SPDX-License-Identifier: Apache-2.0
#include "groups/group_network.hpp"

#include <algorithm>
#include <utility>

namespace coppice::groups {

using fabric::NodeIndex;

Rows<NodeIndex> neighboursOf(const fabric::Fabric& fabric) {
  std::vector<std::pair<NodeIndex, NodeIndex>> pairs;
  pairs.reserve(2 * fabric.arcs().size());
  for (const fabric::Arc& arc : fabric.arcs()) {
    pairs.emplace_back(arc.tail, arc.head);
    pairs.emplace_back(arc.head, arc.tail);
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return Rows<NodeIndex>(fabric.nodes().size(), [&](const auto& add) {
    for (const auto& [node, other] : pairs) {
      add(node, other);
    }
  });
}

GroupNetwork::GroupNetwork(const fabric::Fabric& fabric, std::span<const NodeIndex> members, std::vector<char> usable,
                           std::span<const std::int32_t> firstOut, const Rows<NodeIndex>& neighbours) {
  const auto count = static_cast<std::size_t>(fabric.nodeCount());
  constexpr int kUnused = -1;
  constexpr int kThrough = -2;
  std::vector<int> placeOf(count, kUnused);
  std::vector<NodeIndex> nodes(members.begin(), members.end());
  for (std::size_t place = 0; place < members.size(); ++place) {
    placeOf[members[place]] = static_cast<int>(place);
  }
  std::vector<int> degree(count, 0);
  std::vector<NodeIndex> ends;
  for (std::size_t node = 0; node < count; ++node) {
    if (usable[node] != 0) {
      const auto all = neighbours[node];
      degree[node] = static_cast<int>(std::count_if(all.begin(), all.end(), [&](NodeIndex at) { return usable[at]; }));
      if (degree[node] < 2 && placeOf[node] < 0) {
        ends.push_back(static_cast<NodeIndex>(node));
      }
    }
  }
  while (!ends.empty()) {
    const NodeIndex node = ends.back();
    ends.pop_back();
    usable[node] = 0;
    for (const NodeIndex other : neighbours[node]) {
      if (usable[other] != 0 && --degree[other] == 1 && placeOf[other] < 0) {
        ends.push_back(other);
      }
    }
  }
  for (std::size_t node = 0; node < count; ++node) {
    if (usable[node] != 0 && placeOf[node] < 0) {
      placeOf[node] = degree[node] == 2 ? kThrough : static_cast<int>(nodes.size());
      if (degree[node] > 2) {
        nodes.push_back(static_cast<NodeIndex>(node));
      }
    }
  }
  for (const NodeIndex start : nodes) {
    for (std::int32_t first = firstOut[start]; first < firstOut[static_cast<std::size_t>(start) + 1]; ++first) {
      const auto begin = static_cast<std::uint32_t>(m_arcs.size());
      NodeIndex from = start;
      std::int32_t arc = first;
      NodeIndex at = fabric.arcs()[arc].head;
      while (usable[at] != 0 && arc >= 0 && placeOf[at] == kThrough) {
        m_arcs.push_back(arc);
        // On to the other neighbour, if there is a link in that direction.
        arc = -1;
        for (std::int32_t next = firstOut[at]; next < firstOut[static_cast<std::size_t>(at) + 1]; ++next) {
          const NodeIndex head = fabric.arcs()[next].head;
          arc = usable[head] != 0 && head != from ? next : arc;
        }
        from = at;
        at = arc >= 0 ? fabric.arcs()[arc].head : at;
      }
      if (usable[at] == 0 || arc < 0 || at == start) {
        m_arcs.resize(begin);
        continue;
      }
      m_arcs.push_back(arc);
      m_ways.push_back({placeOf[start], placeOf[at], begin, static_cast<std::uint32_t>(m_arcs.size()) - begin});
    }
    m_firstWay.push_back(m_ways.size());
  }
}

}  // namespace coppice::groups
