// SPDX-License-Identifier: Apache-2.0
#include "schedule/link_loads.hpp"

#include <algorithm>
#include <iterator>

#include "base/checked.hpp"
#include "schedule/arc_finder.hpp"
#include "schedule/own_copies.hpp"
#include "schedule/rotation.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::schedule {

std::vector<std::int64_t> linkLoads(const fabric::Fabric& fabric, const Forest& forest, const LoadOptions& options,
                                    const Progress& progress) {
  constexpr std::int64_t kReportEvery = 64;
  TreeReader reader(forest);
  // Paths run in the direction of the data, whichever way the trees point.
  const ArcFinder arcs(fabric, Direction::out);
  const bool isIn = forest.direction == Direction::in;
  const std::vector<Rotation>& rotations = forest.rotations;
  const bool isByImages = std::all_of(rotations.begin(), rotations.end(), [&](const Rotation& rotation) {
    return !symmetryFault(fabric, rotation).has_value();
  });
  const std::int64_t count = isByImages ? std::ssize(forest.trees) : reader.size();
  std::vector<std::int64_t> loads(fabric.arcs().size(), 0);
  for (std::int64_t tree = 0; tree < count; ++tree) {
    if (tree % kReportEvery == 0) {
      throwIfCancelled(progress);
      progress.report("measuring loads", static_cast<double>(tree) / static_cast<double>(count));
    }
    const TreeReader::View view = reader.read(tree);
    const auto addTo = [&](std::int32_t arc) { loads[arc] = checkedAdd(loads[arc], view.multiplicity); };
    for (const TreeEdge& edge : view.edges) {
      const auto path = reader.path(edge);
      const std::size_t hops = path.size() - 1;
      const std::size_t pruned = options.wholeRoutes ? 0 : static_cast<std::size_t>(edge.pruned);
      for (std::size_t hop = isIn ? 0 : pruned; hop < (isIn ? hops - pruned : hops); ++hop) {
        if (const std::int32_t arc = arcs.find(path[hop], path[hop + 1]); arc != kNoArc) {
          addTo(arc);
        }
      }
    }
    if (options.ownCopies) {
      for (const int arc : ownCopies(fabric, forest.direction, reader, view)) {
        addTo(arc);
      }
    }
  }
  if (isByImages && !rotations.empty()) {
    std::vector<Int128> all(loads.begin(), loads.end());
    addImages(fabric, rotations, all);
    std::transform(all.begin(), all.end(), loads.begin(), [](Int128 load) { return narrow64(load); });
  }
  return loads;
}

InverseBandwidth neededScale(const fabric::Fabric& fabric, const Forest& forest, const Progress& progress) {
  const std::vector<std::int64_t> loads = linkLoads(fabric, forest, {}, progress);
  InverseBandwidth scale;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    scale = std::max(scale, Rational(loads[i]) / fabric.arcs()[i].bandwidth);
  }
  return scale;
}

}  // namespace coppice::schedule
