// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include "bfb/bfb.hpp"
#include "topology/digraph.hpp"

/// The loads of core/bfb on a built topology, which share no code with the finder's rules.
namespace coppice::test {

inline bfb::Digraph asLinks(const topology::Digraph& graph) {
  bfb::Digraph result;
  result.nodeCount = graph.nodes;
  for (int v = 0; v < graph.nodes; ++v) {
    for (const int head : graph.out(v)) {
      result.links.push_back({v, head, 1});
    }
  }
  return result;
}

inline bfb::Loads loadsOf(const topology::Digraph& graph, bool isReduceScatter = false) {
  const bfb::Digraph links = asLinks(graph);
  const auto loads = bfb::loads(isReduceScatter ? bfb::transposed(links) : links);
  if (!loads) {
    qFatal("%s: %s", graph.name.c_str(), describe(loads.error()).c_str());
  }
  return *loads;
}

}  // namespace coppice::test
