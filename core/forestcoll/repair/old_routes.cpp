// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/repair/old_routes.hpp"

namespace coppice::forestcoll {

using fabric::NodeIndex;

schedule::PathId OldRoutes::numberOf(schedule::PathId path, schedule::PathPool& paths) {
  Known& known = m_known[path];
  if (!known.isRead) {
    known.isRead = true;
    read(path, known, paths);
  }
  return known.path;
}

void OldRoutes::read(schedule::PathId path, Known& known, schedule::PathPool& paths) {
  std::vector<NodeIndex> route;
  for (const NodeIndex node : m_old.paths[path]) {
    route.push_back(m_nodes[node]);
  }
  known.firstArc = m_arcs.size();
  for (std::size_t i = 0; i + 1 < route.size(); ++i) {
    const std::int32_t arc =
        route[i] < 0 || route[i + 1] < 0 ? schedule::kNoArc : m_arcFinder.find(route[i], route[i + 1]);
    if (arc == schedule::kNoArc) {
      m_arcs.resize(known.firstArc);
      return;
    }
    m_arcs.push_back(arc);
  }
  known.arcs = static_cast<int>(m_arcs.size() - known.firstArc);
  known.path = paths.add(route);
}

}  // namespace coppice::forestcoll
