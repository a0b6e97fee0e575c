// SPDX-License-Identifier: Apache-2.0
#include "live/equal_boxes.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "fabric/box_path.hpp"

namespace coppice::live {

CutEngine::EqualBoxes equalBoxes(std::span<const std::string_view> boxOf, std::span<const CutEngine::NodeInit> nodes,
                                 std::span<const CutEngine::ArcInit> arcs) {
  CutEngine::EqualBoxes found;
  found.boxOf.assign(nodes.size(), -1);
  found.classOf.resize(nodes.size());
  std::iota(found.classOf.begin(), found.classOf.end(), 0);
  std::unordered_map<std::string_view, int> number;
  std::vector<std::vector<int>> boxes;
  std::vector<int> place(nodes.size(), 0);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const std::string_view box = fabric::boxAtLevel(boxOf[node], 1);
    if (box.empty()) {
      continue;
    }
    const auto [entry, isNew] = number.try_emplace(box, static_cast<int>(boxes.size()));
    if (isNew) {
      boxes.emplace_back();
    }
    found.boxOf[node] = entry->second;
    place[node] = static_cast<int>(boxes[entry->second].size());
    boxes[entry->second].push_back(static_cast<int>(node));
  }
  // By node its arcs: the other end, whether it is the head, the capacity.
  std::vector<std::vector<std::tuple<std::int64_t, bool, std::int64_t>>> ends(nodes.size());
  const auto endOf = [&](int node, int other) {
    // Places inside the box differ from nodes outside by their sign.
    const bool isInside = found.boxOf[node] >= 0 && found.boxOf[node] == found.boxOf[other];
    return isInside ? -1 - std::int64_t{place[other]} : std::int64_t{other};
  };
  for (const CutEngine::ArcInit& arc : arcs) {
    ends[arc.tail].emplace_back(endOf(arc.tail, arc.head), true, arc.capacity);
    ends[arc.head].emplace_back(endOf(arc.head, arc.tail), false, arc.capacity);
  }
  std::map<std::vector<std::int64_t>, int> firstOf;
  for (std::size_t box = 0; box < boxes.size(); ++box) {
    std::vector<std::int64_t> signature;
    for (const int node : boxes[box]) {
      std::sort(ends[node].begin(), ends[node].end());
      signature.insert(signature.end(),
                       {nodes[node].isSink ? 1 : 0, nodes[node].demand, static_cast<std::int64_t>(ends[node].size())});
      for (const auto& [end, isHead, capacity] : ends[node]) {
        signature.insert(signature.end(), {end, isHead ? 1 : 0, capacity});
      }
    }
    const auto [first, isNew] = firstOf.try_emplace(std::move(signature), static_cast<int>(box));
    for (std::size_t i = 0; i < boxes[box].size() && !isNew; ++i) {
      found.classOf[boxes[box][i]] = boxes[first->second][i];
    }
  }
  return found;
}

}  // namespace coppice::live
