// SPDX-License-Identifier: Apache-2.0
#include "fabric/structural_boxes.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/disjoint_sets.hpp"

namespace coppice::fabric {
namespace {

/// The boxes that the kept arcs leave, or nothing where they are none.
std::vector<std::string> boxesOfArcs(const Fabric& fabric, const std::vector<bool>& isKept) {
  const auto n = static_cast<std::size_t>(fabric.nodeCount());
  DisjointSets sets(n);
  for (std::size_t arc = 0; arc < isKept.size(); ++arc) {
    if (isKept[arc]) {
      sets.join(fabric.arcs()[arc].tail, fabric.arcs()[arc].head);
    }
  }
  std::map<int, int> boxOfSet;
  std::vector<int> sizes;
  for (const NodeIndex gpu : fabric.gpus()) {
    const auto [entry, isNew] = boxOfSet.try_emplace(sets.find(gpu), static_cast<int>(boxOfSet.size()));
    if (isNew) {
      sizes.push_back(0);
    }
    ++sizes[static_cast<std::size_t>(entry->second)];
  }
  if (sizes.size() < 2 || *std::min_element(sizes.begin(), sizes.end()) < 2) {
    return {};
  }
  std::vector<int> boxOf(n, -1);
  for (std::size_t node = 0; node < n; ++node) {
    if (const auto found = boxOfSet.find(sets.find(static_cast<int>(node))); found != boxOfSet.end()) {
      boxOf[node] = found->second;
    }
  }
  for (const Arc& arc : fabric.arcs()) {
    const int a = boxOf[static_cast<std::size_t>(arc.tail)];
    const int b = boxOf[static_cast<std::size_t>(arc.head)];
    const bool areGpus = fabric.nodes()[arc.tail].rank >= 0 && fabric.nodes()[arc.head].rank >= 0;
    if (areGpus && a != b) {
      return {};
    }
  }
  // A NIC next to nodes of one box is in this box.
  for (std::size_t node = 0; node < n; ++node) {
    if (boxOf[node] >= 0 || fabric.nodes()[node].kind != NodeKind::nic) {
      continue;
    }
    std::set<int> beside;
    for (const Arc& arc : fabric.arcs()) {
      if (static_cast<std::size_t>(arc.tail) == node && boxOf[static_cast<std::size_t>(arc.head)] >= 0 &&
          fabric.nodes()[arc.head].kind != NodeKind::nic) {
        beside.insert(boxOf[static_cast<std::size_t>(arc.head)]);
      }
    }
    if (beside.size() == 1) {
      boxOf[node] = *beside.begin();
    }
  }
  std::vector<std::string> names(n);
  for (std::size_t node = 0; node < n; ++node) {
    names[node] = boxOf[node] >= 0 ? "box" + std::to_string(boxOf[node]) : "";
  }
  return names;
}

}  // namespace

std::vector<std::string> structuralBoxes(const Fabric& fabric) {
  const auto arcs = fabric.arcs();
  std::vector<bool> isKept(arcs.size());
  bool hasNic = false;
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    const bool isAtNic =
        fabric.nodes()[arcs[i].tail].kind == NodeKind::nic || fabric.nodes()[arcs[i].head].kind == NodeKind::nic;
    isKept[i] = !isAtNic;
    hasNic = hasNic || isAtNic;
  }
  if (hasNic) {
    if (auto boxes = boxesOfArcs(fabric, isKept); !boxes.empty()) {
      return boxes;
    }
  }
  std::set<Bandwidth> bandwidths;
  for (const Arc& arc : arcs) {
    bandwidths.insert(arc.bandwidth);
  }
  constexpr std::size_t kMaxSteps = 64;
  std::size_t steps = 0;
  for (const Bandwidth& slowest : bandwidths) {
    if (++steps > kMaxSteps) {
      break;
    }
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      isKept[i] = slowest < arcs[i].bandwidth;
    }
    if (auto boxes = boxesOfArcs(fabric, isKept); !boxes.empty()) {
      return boxes;
    }
  }
  return std::vector<std::string>(static_cast<std::size_t>(fabric.nodeCount()));
}

Fabric withBoxes(const Fabric& fabric) {
  const auto hasBox = [](const Node& node) { return !node.box.empty(); };
  if (std::any_of(fabric.nodes().begin(), fabric.nodes().end(), hasBox)) {
    return fabric;
  }
  const std::vector<std::string> boxes = structuralBoxes(fabric);
  if (std::all_of(boxes.begin(), boxes.end(), [](const std::string& box) { return box.empty(); })) {
    return fabric;
  }
  Description description;
  description.name = fabric.name();
  for (int i = 0; i < fabric.nodeCount(); ++i) {
    const Node& node = fabric.nodes()[i];
    NodeDescription described;
    described.id = node.id;
    described.kind = std::string(toString(node.kind));
    described.box = boxes[static_cast<std::size_t>(i)];
    if (node.rank >= 0) {
      described.rank = node.rank;
    }
    described.multicast = node.multicast;
    described.aggregation = node.aggregation;
    description.nodes.push_back(std::move(described));
  }
  for (const Arc& arc : fabric.arcs()) {
    LinkDescription link{fabric.nodes()[arc.tail].id, fabric.nodes()[arc.head].id, toFraction(arc.bandwidth), false, 1};
    if (arc.latency) {
      link.latency = arc.latency->count().toString();
    }
    description.links.push_back(std::move(link));
  }
  auto built = Fabric::build(description);
  return built ? *std::move(built) : fabric;
}

}  // namespace coppice::fabric
