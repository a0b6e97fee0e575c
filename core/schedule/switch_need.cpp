// SPDX-License-Identifier: Apache-2.0
#include "schedule/switch_need.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/checked.hpp"
#include "schedule/arc_finder.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::schedule {
namespace {

bool isPruned(const std::optional<Forest>& forest) {
  return forest &&
         std::any_of(forest->edges.begin(), forest->edges.end(), [](const TreeEdge& edge) { return edge.pruned > 0; });
}

/// Trees on each arc, with nothing pruned.
void addWholeRoutes(const Forest& forest, const ArcFinder& arcs, std::vector<std::int64_t>& loads,
                    const Progress& progress) {
  TreeReader reader(forest);
  for (std::int64_t tree = 0; tree < reader.size(); ++tree) {
    throwIfCancelled(progress);
    const TreeReader::View view = reader.read(tree);
    for (const TreeEdge& edge : view.edges) {
      const auto path = reader.path(edge);
      for (std::size_t hop = 0; hop + 1 < path.size(); ++hop) {
        if (const std::int32_t arc = arcs.find(path[hop], path[hop + 1]); arc != kNoArc) {
          loads[arc] = checkedAdd(loads[arc], view.multiplicity);
        }
      }
    }
  }
}

bool isOverfull(const fabric::Fabric& fabric, const std::vector<std::int64_t>& loads, const InverseBandwidth& scale) {
  for (std::size_t arc = 0; arc < loads.size(); ++arc) {
    if (Rational(loads[arc]) > scale * fabric.arcs()[arc].bandwidth) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool needsSwitches(const fabric::Fabric& fabric, const Schedule& schedule, const Progress& progress) {
  if (!isPruned(schedule.reduceForest) && !isPruned(schedule.broadcastForest)) {
    return false;
  }
  // Paths run in the direction of the data.
  const ArcFinder arcs(fabric, Direction::out);
  std::vector<std::int64_t> loads(fabric.arcs().size(), 0);
  for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (!*forest) {
      continue;
    }
    if (!schedule.overlapped) {
      loads.assign(loads.size(), 0);
    }
    addWholeRoutes(**forest, arcs, loads, progress);
    if (isOverfull(fabric, loads, (*forest)->scale)) {
      return true;
    }
  }
  return false;
}

}  // namespace coppice::schedule
