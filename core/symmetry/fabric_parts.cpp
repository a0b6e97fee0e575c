// SPDX-License-Identifier: Apache-2.0
#include "symmetry/fabric_parts.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/disjoint_sets.hpp"
#include "base/rows.hpp"
#include "fabric/box_path.hpp"

namespace coppice::symmetry {
namespace {

/// Levels of nested boxes that are looked at, and hops of a node from a GPU.
constexpr int kMaxLevels = 8;

/// Empty where no box is nested that deep.
Parts boxesAtLevel(std::span<const std::string_view> boxOf, int level) {
  std::unordered_map<std::string_view, int> numberOf;
  Parts parts;
  for (const std::string_view path : boxOf) {
    const std::string_view box = fabric::boxAtLevel(path, level);
    parts.push_back(box.empty() ? -1 : numberOf.try_emplace(box, static_cast<int>(numberOf.size())).first->second);
  }
  return numberOf.empty() ? Parts() : parts;
}

/// By node the hops from the nearest GPU, against and along arcs.
std::vector<int> layersOf(const ColouredDigraph& graph, const std::vector<bool>& isGpu) {
  const Rows<int> neighbours(graph.colourOf.size(), [&](const auto& add) {
    for (const ColouredArc& arc : graph.arcs) {
      add(arc.tail, arc.head);
      add(arc.head, arc.tail);
    }
  });
  std::vector<int> layer(graph.colourOf.size(), -1);
  std::vector<int> queue;
  for (int node = 0; node < graph.nodeCount(); ++node) {
    if (isGpu[node]) {
      layer[node] = 0;
      queue.push_back(node);
    }
  }
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const int next : neighbours[queue[i]]) {
      if (layer[next] < 0) {
        layer[next] = layer[queue[i]] + 1;
        queue.push_back(next);
      }
    }
  }
  return layer;
}

void addLayers(const ColouredDigraph& graph, const std::vector<bool>& isGpu, std::vector<Parts>& candidates) {
  const std::vector<int> layer = layersOf(graph, isGpu);
  DisjointSets sets(graph.colourOf.size());
  const int last = *std::max_element(layer.begin(), layer.end());
  for (int max = 1; max < last && max <= kMaxLevels; ++max) {
    for (const ColouredArc& arc : graph.arcs) {
      if (std::max(layer[arc.tail], layer[arc.head]) <= max) {
        sets.join(arc.tail, arc.head);
      }
    }
    Parts parts(layer.size(), -1);
    for (int node = 0; node < graph.nodeCount(); ++node) {
      if (layer[node] >= 0 && layer[node] <= max) {
        parts[node] = sets.find(node);
      }
    }
    candidates.push_back(std::move(parts));
  }
}

}  // namespace

ColouredDigraph graphOf(const fabric::Fabric& fabric, std::span<const std::int64_t> amounts) {
  ColouredDigraph graph;
  Numbering<std::tuple<fabric::NodeKind, bool, bool, std::int64_t>> colours;
  for (const fabric::Node& node : fabric.nodes()) {
    const std::int64_t amount = node.rank < 0 || amounts.empty() ? -1 : amounts[node.rank];
    graph.colourOf.push_back(colours({node.kind, node.multicast, node.aggregation, amount}));
  }
  Numbering<Bandwidth> bandwidths;
  for (const fabric::Arc& arc : fabric.arcs()) {
    graph.arcs.push_back({arc.tail, arc.head, bandwidths(arc.bandwidth)});
  }
  return graph;
}

std::vector<Parts> candidateParts(const ColouredDigraph& graph, std::span<const std::string_view> boxOf,
                                  const std::vector<bool>& isGpu) {
  if (graph.nodeCount() == 0) {
    return {};
  }
  Parts single(graph.colourOf.size());
  std::iota(single.begin(), single.end(), 0);
  std::vector<Parts> candidates;
  for (int level = 1; level <= kMaxLevels; ++level) {
    if (Parts boxes = boxesAtLevel(boxOf, level); !boxes.empty()) {
      candidates.insert(candidates.begin(), std::move(boxes));
    }
  }
  candidates.insert(candidates.begin(), single);
  addLayers(graph, isGpu, candidates);
  candidates.push_back(std::move(single));
  return candidates;
}

std::vector<Parts> candidateParts(const ColouredDigraph& graph, const fabric::Fabric& fabric) {
  std::vector<std::string_view> boxOf;
  std::vector<bool> isGpu;
  for (const fabric::Node& node : fabric.nodes()) {
    boxOf.emplace_back(node.box);
    isGpu.push_back(node.kind == fabric::NodeKind::gpu);
  }
  return candidateParts(graph, boxOf, isGpu);
}

}  // namespace coppice::symmetry
