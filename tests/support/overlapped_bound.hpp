// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

namespace coppice::test {

/// What every allreduce stays below: all data leave each GPU, or their sum does, and all enter it.
inline Bandwidth leastOfGpus(const fabric::Fabric& fabric) {
  std::vector<Bandwidth> leaving(fabric.nodeCount());
  std::vector<Bandwidth> entering(fabric.nodeCount());
  for (const fabric::Arc& arc : fabric.arcs()) {
    leaving[arc.tail] += arc.bandwidth;
    entering[arc.head] += arc.bandwidth;
  }
  Bandwidth least = leaving[fabric.gpus().front()];
  for (const fabric::NodeIndex gpu : fabric.gpus()) {
    least = std::min({least, leaving[gpu], entering[gpu]});
  }
  return least;
}

/// The schedule as it is, or where its halves overlap with that bound in place of the one that baselines leave open.
inline schedule::Schedule withBound(const fabric::Fabric& fabric, schedule::Schedule schedule) {
  if (schedule.overlapped) {
    schedule.bound = leastOfGpus(fabric);
    schedule.allreduceBound = schedule.bound;
  }
  return schedule;
}

}  // namespace coppice::test
