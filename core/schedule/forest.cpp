// SPDX-License-Identifier: Apache-2.0
#include "schedule/forest.hpp"

#include <limits>

#include "base/checked.hpp"

namespace coppice::schedule {

PathId PathPool::add(std::span<const fabric::NodeIndex> nodes) {
  if (m_start.size() > static_cast<std::size_t>(std::numeric_limits<PathId>::max())) {
    throw OverflowError("more routes than a path id can count");
  }
  m_nodes.insert(m_nodes.end(), nodes.begin(), nodes.end());
  m_start.push_back(static_cast<std::int64_t>(m_nodes.size()));
  return static_cast<PathId>(m_start.size() - 2);
}

std::span<const fabric::NodeIndex> PathPool::operator[](PathId id) const {
  const auto index = static_cast<std::size_t>(id);
  const auto first = static_cast<std::size_t>(m_start[index]);
  return {m_nodes.data() + first, static_cast<std::size_t>(m_start[index + 1]) - first};
}

bool isCapable(const fabric::Node& node, Direction direction) {
  return node.kind != fabric::NodeKind::gpu && (direction == Direction::out ? node.multicast : node.aggregation);
}

std::int64_t Forest::treeCount() const {
  std::int64_t total = 0;
  for (const std::int64_t ofRoot : treesOfRoot) {
    total = checkedAdd(total, ofRoot);
  }
  return total;
}

Bandwidth Forest::algbw() const {
  return Rational(treeCount()) / scale;
}

Forest reversed(Forest forest) {
  forest.direction = forest.direction == Direction::out ? Direction::in : Direction::out;
  PathPool paths;
  std::vector<fabric::NodeIndex> nodes;
  for (PathId id = 0; id < forest.paths.size(); ++id) {
    const auto path = forest.paths[id];
    nodes.assign(path.rbegin(), path.rend());
    paths.add(nodes);
  }
  forest.paths = std::move(paths);
  return forest;
}

}  // namespace coppice::schedule
