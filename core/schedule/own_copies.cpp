// SPDX-License-Identifier: Apache-2.0
#include "schedule/own_copies.hpp"

#include <algorithm>

namespace coppice::schedule {

std::vector<int> ownCopies(const fabric::Fabric& fabric, Direction direction, TreeReader& reader,
                           const TreeReader::View& tree) {
  const bool isOut = direction == Direction::out;
  std::vector<fabric::NodeIndex> meetings;
  for (const TreeEdge& edge : tree.edges) {
    if (edge.pruned > 0) {
      const auto path = reader.path(edge);
      meetings.push_back(isOut ? path[edge.pruned] : path[path.size() - 1 - edge.pruned]);
    }
  }
  std::vector<int> arcs;
  if (meetings.empty()) {
    return arcs;
  }
  for (const TreeEdge& edge : tree.edges) {
    // The hop at the parent's end: from the GPU that sends to the switch, or to the GPU that takes the sum.
    const auto path = reader.path(edge);
    if (edge.pruned > 0 || path.size() < 3) {
      continue;
    }
    const fabric::NodeIndex gpu = isOut ? path.front() : path.back();
    const fabric::NodeIndex relay = isOut ? path[1] : path[path.size() - 2];
    if (fabric.nodes()[relay].box != fabric.nodes()[gpu].box ||
        std::find(meetings.begin(), meetings.end(), relay) == meetings.end()) {
      continue;
    }
    const auto arc = isOut ? fabric.findArc(relay, gpu) : fabric.findArc(gpu, relay);
    if (arc && std::find(arcs.begin(), arcs.end(), *arc) == arcs.end()) {
      arcs.push_back(*arc);
    }
  }
  return arcs;
}

}  // namespace coppice::schedule
