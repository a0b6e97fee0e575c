// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/fabric.hpp"
#include "schedule/arc_finder.hpp"
#include "schedule/forest.hpp"

namespace coppice::forestcoll {

/// The routes of the old forest on the changed fabric.
class OldRoutes {
public:
  /// @param nodes by node of the old fabric: that of the changed one; -1 = gone
  OldRoutes(const schedule::Forest& old, std::span<const fabric::NodeIndex> nodes, const fabric::Fabric& after)
      : m_old(old), m_nodes(nodes), m_arcFinder(after, schedule::Direction::out), m_known(old.paths.size()) {}

  /// The route's number among those of the changed fabric, where it is added at first; -1 = it is broken.
  schedule::PathId numberOf(schedule::PathId path, schedule::PathPool& paths);
  /// @pre its number was asked for
  [[nodiscard]] std::span<const std::int32_t> arcsOf(schedule::PathId path) const {
    const Known& known = m_known[path];
    return {m_arcs.data() + known.firstArc, static_cast<std::size_t>(known.arcs)};
  }

private:
  struct Known {
    bool isRead = false;
    schedule::PathId path = -1;
    std::size_t firstArc = 0;
    int arcs = 0;
  };
  void read(schedule::PathId path, Known& known, schedule::PathPool& paths);

  const schedule::Forest& m_old;
  std::span<const fabric::NodeIndex> m_nodes;
  schedule::ArcFinder m_arcFinder;
  std::vector<Known> m_known;
  std::vector<std::int32_t> m_arcs;
};

}  // namespace coppice::forestcoll
