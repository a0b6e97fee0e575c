// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedule/arc_loads.hpp"

#include <algorithm>
#include <span>

#include "base/checked.hpp"
#include "schedule/arc_finder.hpp"
#include "schedule/rotation.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::designer {
namespace {

void addForest(const fabric::Fabric& fabric, const schedule::Forest& forest, std::size_t half,
               std::vector<ArcLoad>& loads, const Progress& progress) {
  constexpr std::int64_t kReportEvery = 64;
  schedule::TreeReader reader(forest, fabric.gpus());
  // Paths run in the direction of the data, whichever way the trees point.
  const schedule::ArcFinder arcs(fabric, schedule::Direction::out);
  const bool isIn = forest.direction == schedule::Direction::in;
  // Of a rotated forest the trees of rank 0 are enough where its rotations are symmetries.
  std::vector<schedule::Rotation> rotations;
  if (schedule::rotatedTrees(forest) > 0) {
    rotations = schedule::rotationsIn(*forest.factored);
    if (std::any_of(rotations.begin(), rotations.end(), [&](const schedule::Rotation& rotation) {
          return schedule::symmetryFault(fabric, rotation).has_value();
        })) {
      rotations.clear();
    }
  }
  const std::int64_t count = rotations.empty() ? reader.size() : schedule::rotatedTrees(forest);
  for (std::int64_t tree = 0; tree < count; ++tree) {
    if (tree % kReportEvery == 0) {
      throwIfCancelled(progress);
      progress.report("measuring loads", static_cast<double>(tree) / static_cast<double>(count));
    }
    const schedule::TreeReader::View view = reader.read(tree);
    for (const schedule::TreeReader::Edge& edge : view.edges) {
      const std::span<const fabric::NodeIndex> path = reader.path(edge);
      const std::size_t hops = path.size() - 1;
      const auto pruned = static_cast<std::size_t>(edge.pruned);
      const std::size_t first = isIn ? 0 : pruned;
      const std::size_t end = isIn ? hops - pruned : hops;
      for (std::size_t hop = first; hop < end; ++hop) {
        const std::int32_t arc = arcs.find(path[hop], path[hop + 1]);
        if (arc != schedule::kNoArc) {
          std::int64_t& trees = loads[arc].trees[half];
          trees = checkedAdd(trees, view.multiplicity);
        }
      }
    }
  }
  if (!rotations.empty()) {
    std::vector<Int128> all;
    all.reserve(loads.size());
    for (const ArcLoad& load : loads) {
      all.emplace_back(load.trees[half]);
    }
    schedule::addImages(fabric, rotations, all);
    for (std::size_t arc = 0; arc < all.size(); ++arc) {
      loads[arc].trees[half] = narrow64(all[arc]);
    }
  }
  for (ArcLoad& load : loads) {
    load.rates[half] = Rational(load.trees[half]) / forest.scale;
  }
}

}  // namespace

std::vector<ArcLoad> arcLoads(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                              const Progress& progress) {
  std::vector<ArcLoad> loads;
  loads.reserve(fabric.arcs().size());
  for (const fabric::Arc& arc : fabric.arcs()) {
    ArcLoad load;
    load.tail = arc.tail;
    load.head = arc.head;
    load.bandwidth = arc.bandwidth.gigabytesPerSecond();
    loads.push_back(load);
  }
  if (schedule.reduceForest) {
    addForest(fabric, *schedule.reduceForest, 0, loads, progress);
  }
  if (schedule.broadcastForest) {
    addForest(fabric, *schedule.broadcastForest, 1, loads, progress);
  }
  Rational most;
  for (ArcLoad& load : loads) {
    load.rate = std::max(load.rates[0], load.rates[1]);
    most = std::max(most, load.rate / load.bandwidth);
  }
  for (ArcLoad& load : loads) {
    load.isBusiest = most.isPositive() && load.rate / load.bandwidth == most;
  }
  return loads;
}

}  // namespace coppice::designer
