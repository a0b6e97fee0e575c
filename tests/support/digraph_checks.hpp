// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "topology/digraph.hpp"

namespace coppice::test {

/// Every node has as many in-links as out-links.
inline bool isInRegular(const topology::Digraph& graph) {
  std::vector<int> count(static_cast<std::size_t>(graph.nodes), 0);
  for (const int head : graph.heads) {
    ++count[static_cast<std::size_t>(head)];
  }
  return std::all_of(count.begin(), count.end(), [&](int c) { return c == graph.degree; });
}

/// {b_0, …, b_(D-1); c_1, …, c_D}: of a node at distance i from any other, how many neighbours are one step farther and
/// one step nearer.
struct IntersectionArray {
  std::vector<int> farther;
  std::vector<int> nearer;
};

/// Hops from a node to all.
inline std::vector<int> distancesFrom(const topology::Digraph& graph, int start) {
  std::vector<int> distance(static_cast<std::size_t>(graph.nodes), -1);
  std::vector<int> queue{start};
  distance[static_cast<std::size_t>(start)] = 0;
  for (std::size_t at = 0; at < queue.size(); ++at) {
    for (const int next : graph.out(queue[at])) {
      if (distance[static_cast<std::size_t>(next)] < 0) {
        distance[static_cast<std::size_t>(next)] = distance[static_cast<std::size_t>(queue[at])] + 1;
        queue.push_back(next);
      }
    }
  }
  return distance;
}

/// nullopt where the graph is not distance-regular: some pair of equal distance differs. N^2 d steps.
inline std::optional<IntersectionArray> intersectionArray(const topology::Digraph& graph) {
  IntersectionArray array;
  if (!topology::isDuplex(graph) || topology::unreachablePair(graph)) {
    return std::nullopt;
  }
  for (int v = 0; v < graph.nodes; ++v) {
    const std::vector<int> distance = distancesFrom(graph, v);
    for (int w = 0; w < graph.nodes; ++w) {
      const int i = distance[static_cast<std::size_t>(w)];
      int farther = 0;
      int nearer = 0;
      for (const int next : graph.out(w)) {
        farther += distance[static_cast<std::size_t>(next)] == i + 1 ? 1 : 0;
        nearer += distance[static_cast<std::size_t>(next)] == i - 1 ? 1 : 0;
      }
      const auto at = static_cast<std::size_t>(i);
      if (array.farther.size() <= at) {
        array.farther.resize(at + 1, -1);
        array.nearer.resize(at + 1, -1);
      }
      if (array.farther[at] < 0) {
        array.farther[at] = farther;
        array.nearer[at] = nearer;
      } else if (array.farther[at] != farther || array.nearer[at] != nearer) {
        return std::nullopt;
      }
    }
  }
  array.farther.pop_back();
  array.nearer.erase(array.nearer.begin());
  return array;
}

}  // namespace coppice::test
