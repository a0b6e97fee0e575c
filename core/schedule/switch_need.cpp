// SPDX-License-Identifier: Apache-2.0
#include "schedule/switch_need.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/checked.hpp"
#include "schedule/link_loads.hpp"

namespace coppice::schedule {
namespace {

bool isPruned(const std::optional<Forest>& forest) {
  return forest &&
         std::any_of(forest->edges.begin(), forest->edges.end(), [](const TreeEdge& edge) { return edge.pruned > 0; });
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
  std::vector<std::int64_t> loads(fabric.arcs().size(), 0);
  for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (!*forest) {
      continue;
    }
    const std::vector<std::int64_t> own = linkLoads(fabric, **forest, {.wholeRoutes = true}, progress);
    for (std::size_t arc = 0; arc < own.size(); ++arc) {
      loads[arc] = schedule.overlapped ? checkedAdd(loads[arc], own[arc]) : own[arc];
    }
    if (isOverfull(fabric, loads, (*forest)->scale)) {
      return true;
    }
  }
  return false;
}

}  // namespace coppice::schedule
