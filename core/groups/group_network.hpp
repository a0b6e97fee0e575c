// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/rows.hpp"
#include "fabric/fabric.hpp"

namespace coppice::groups {

/// Between which nodes of a fabric links lead, in either direction.
[[nodiscard]] Rows<fabric::NodeIndex> neighboursOf(const fabric::Fabric& fabric);

/// What the paths of a group can lead through: its members and the relays between them. Relays with one neighbour left
/// are on no path, and those with two are part of a way from one to the other.
class GroupNetwork {
public:
  /// Over several links, through relays that lead nowhere else.
  struct Way {
    int tail = 0;
    int head = 0;
    std::uint32_t firstArc = 0;  ///< into arcs()
    std::uint32_t arcCount = 0;
  };

  /// @param members nodes @param usable by node, also of the members: whether the group may use it
  /// @param firstOut by node, into the arcs of the fabric, one more at the end
  GroupNetwork(const fabric::Fabric& fabric, std::span<const fabric::NodeIndex> members, std::vector<char> usable,
               std::span<const std::int32_t> firstOut, const Rows<fabric::NodeIndex>& neighbours);

  /// The members come first, in order.
  [[nodiscard]] int nodeCount() const { return static_cast<int>(m_firstWay.size()) - 1; }
  [[nodiscard]] std::span<const Way> ways() const { return m_ways; }
  /// Of a node; the same as places in ways().
  [[nodiscard]] std::span<const Way> waysFrom(int node) const {
    return ways().subspan(m_firstWay[node], m_firstWay[static_cast<std::size_t>(node) + 1] - m_firstWay[node]);
  }
  [[nodiscard]] std::span<const std::int32_t> arcsOf(const Way& way) const {
    return std::span(m_arcs).subspan(way.firstArc, way.arcCount);
  }

private:
  std::vector<std::size_t> m_firstWay{0};
  std::vector<Way> m_ways;
  std::vector<std::int32_t> m_arcs;
};

}  // namespace coppice::groups
