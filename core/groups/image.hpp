// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fabric/fabric.hpp"
#include "schedule/concurrent.hpp"

namespace coppice::groups {

/// A permutation of the nodes, with what it does to arcs and groups.
class Image {
public:
  Image(const fabric::Fabric& fabric, const std::vector<std::pair<fabric::NodeIndex, fabric::NodeIndex>>& moved)
      : m_fabric(fabric), m_moved(moved.begin(), moved.end()) {}

  [[nodiscard]] fabric::NodeIndex node(fabric::NodeIndex at) const {
    const auto found = m_moved.find(at);
    return found == m_moved.end() ? at : found->second;
  }
  /// @pre a symmetry of the fabric, as the verifier has checked
  [[nodiscard]] int arc(int index) const {
    const fabric::Arc& at = m_fabric.arcs()[index];
    const fabric::NodeIndex tail = node(at.tail);
    const fabric::NodeIndex head = node(at.head);
    return tail == at.tail && head == at.head ? index : m_fabric.findArc(tail, head).value_or(index);
  }

private:
  const fabric::Fabric& m_fabric;
  std::unordered_map<fabric::NodeIndex, fabric::NodeIndex> m_moved;
};

/// What makes groups the same: collective, weight, root and members.
using GroupKey = std::tuple<int, Rational, fabric::NodeIndex, std::vector<fabric::NodeIndex>>;

[[nodiscard]] inline GroupKey keyOf(const fabric::Fabric& fabric, const schedule::ConcurrentGroup& group,
                                    const Image& image) {
  std::vector<fabric::NodeIndex> members;
  for (const fabric::Rank rank : group.ranks) {
    members.push_back(image.node(fabric.gpus()[rank]));
  }
  const fabric::NodeIndex root = isRooted(group.collective) ? members[group.root] : -1;
  std::sort(members.begin(), members.end());
  return {static_cast<int>(group.collective), group.weight, root, std::move(members)};
}

}  // namespace coppice::groups
