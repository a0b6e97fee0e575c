// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/trees/trees_on_link.hpp"

#include <span>

#include "schedule/own_copies.hpp"

namespace coppice::designer {

TreesOnLink treesOn(const ScheduleResult& result, const std::set<std::pair<fabric::NodeIndex, fabric::NodeIndex>>& arcs,
                    std::size_t max, const std::stop_token& stop) {
  TreesOnLink found;
  for (int half = 0; half < 2; ++half) {
    const schedule::Forest* forest = result.forest(static_cast<std::size_t>(half));
    if (forest == nullptr) {
      continue;
    }
    schedule::TreeReader reader = *result.readers[half];
    for (std::int64_t tree = 0; tree < reader.size() && !stop.stop_requested(); ++tree) {
      const schedule::TreeReader::View view = reader.read(tree);
      // A step that multicast shares is one crossing, as on the drawing.
      std::int64_t crossings = 0;
      for (const schedule::TreeEdge& edge : view.edges) {
        const std::span<const fabric::NodeIndex> path = reader.path(edge);
        const auto pruned = static_cast<std::size_t>(edge.pruned);
        const std::size_t end = path.size() - 1 - (half == 0 ? pruned : 0);
        for (std::size_t hop = half == 0 ? 0 : pruned; hop < end; ++hop) {
          crossings += arcs.contains({path[hop], path[hop + 1]}) ? 1 : 0;
        }
      }
      if (result.forests()->ownCopies) {
        for (const int index : schedule::ownCopies(*result.fabric, forest->direction, reader, view)) {
          const fabric::Arc& arc = result.fabric->arcs()[index];
          crossings += arcs.contains({arc.tail, arc.head}) ? 1 : 0;
        }
      }
      if (crossings == 0) {
        continue;
      }
      ++found.different;
      found.copies += view.multiplicity;
      if (found.first.size() < max) {
        found.first.push_back({{half, tree},
                               view.root,
                               view.multiplicity,
                               Rational(crossings) * Rational(view.multiplicity) / forest->scale});
      }
    }
  }
  return found;
}

}  // namespace coppice::designer
