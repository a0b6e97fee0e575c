// SPDX-License-Identifier: Apache-2.0
#include "fabric/likely_gpu.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/gpu_names.hpp"

namespace coppice::fabric {
namespace {

bool hasSummingBox(const Fabric& fabric) {
  return std::any_of(fabric.nodes().begin(), fabric.nodes().end(),
                     [](const Node& node) { return !node.box.empty() && node.multicast && node.aggregation; });
}

}  // namespace

std::string namesOf(const Fabric& fabric) {
  std::string names = fabric.name();
  for (const Node& node : fabric.nodes()) {
    names += ' ' + node.id + ' ' + node.box;
  }
  return lowered(names);
}

int likelyCapability(const Fabric& fabric) {
  return namedCapability(namesOf(fabric)).value_or(hasSummingBox(fabric) ? 90 : 80);
}

int likelyMultiprocessors(const Fabric& fabric) {
  return namedMultiprocessors(namesOf(fabric));
}

}  // namespace coppice::fabric
