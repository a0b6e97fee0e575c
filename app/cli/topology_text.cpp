// SPDX-License-Identifier: Apache-2.0
#include "topology_text.hpp"

namespace coppice::cli {

Json toJson(const finder::Construction& construction) {
  Json json = {{"operation", finder::word(construction.operation)}, {"name", finder::nameOf(construction)}};
  if (!construction.numbers.empty()) {
    json["numbers"] = construction.numbers;
  }
  if (!construction.parts.empty()) {
    json["parts"] = Json::array();
    for (const finder::ConstructionPtr& part : construction.parts) {
      json["parts"].push_back(toJson(*part));
    }
  }
  return json;
}

bfb::Digraph asBfb(const topology::Digraph& graph) {
  bfb::Digraph result;
  result.nodeCount = graph.nodes;
  result.links.reserve(graph.heads.size());
  for (int v = 0; v < graph.nodes; ++v) {
    for (const int head : graph.out(v)) {
      result.links.push_back({v, head, 1});
    }
  }
  return result;
}

}  // namespace coppice::cli
