// SPDX-License-Identifier: Apache-2.0
#include "fabric/gpu_boxes.hpp"

#include <string_view>
#include <unordered_map>

namespace coppice::fabric {

std::vector<std::vector<Rank>> GpuBoxes::ranks() const {
  std::vector<std::vector<Rank>> all;
  all.reserve(boxes.size());
  for (const GpuBox& box : boxes) {
    all.push_back(box.ranks);
  }
  return all;
}

GpuBoxes gpuBoxes(const Fabric& fabric, Unboxed unboxed) {
  GpuBoxes made;
  std::unordered_map<std::string_view, int> numberOf;
  for (const NodeIndex gpu : fabric.gpus()) {
    const Node& node = fabric.nodes()[gpu];
    auto number = static_cast<int>(made.boxes.size());
    if (!node.box.empty() || unboxed == Unboxed::together) {
      number = numberOf.try_emplace(node.box, number).first->second;
    }
    if (number == static_cast<int>(made.boxes.size())) {
      made.boxes.push_back({node.box, {}});
    }
    made.boxes[number].ranks.push_back(node.rank);
    made.boxOf.push_back(number);
  }
  return made;
}

}  // namespace coppice::fabric
