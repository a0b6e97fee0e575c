// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "forestcoll/forestcoll.hpp"

namespace coppice::forestcoll {

void pruneInNetwork(const fabric::Fabric& fabric, schedule::Forest& forest,
                    const std::function<bool(const schedule::TreeEdge&)>& mayMeet) {
  const bool isOut = forest.direction == schedule::Direction::out;
  const auto isCapable = [&](fabric::NodeIndex node) {
    return schedule::isCapable(fabric.nodes()[node], forest.direction);
  };
  // A switch counts as served once a kept hop of this tree passes it. Going breadth first from the root, what serves it
  // never depends on the current edge, so pruning cannot become circular.
  std::vector<int> servedIn(fabric.nodeCount(), -1);
  for (std::size_t t = 0; t < forest.trees.size(); ++t) {
    for (int e = 0; e < forest.gpuCount - 1; ++e) {
      schedule::TreeEdge& edge = forest.edges[forest.trees[t].firstEdge + e];
      const auto path = forest.paths[edge.path];
      const auto size = static_cast<int>(path.size());
      // Seen from the parent's end in both directions.
      const auto node = [&](int i) { return path[isOut ? i : size - 1 - i]; };
      edge.pruned = 0;
      if (mayMeet && !mayMeet(edge)) {
        continue;
      }
      for (int i = size - 2; i > 0; --i) {
        if (isCapable(node(i)) && servedIn[node(i)] == static_cast<int>(t)) {
          edge.pruned = i;
          break;
        }
      }
      for (int i = edge.pruned; i < size - 1; ++i) {
        if (isCapable(node(i))) {
          servedIn[node(i)] = static_cast<int>(t);
        }
      }
    }
  }
}

}  // namespace coppice::forestcoll
