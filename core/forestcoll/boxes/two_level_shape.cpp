// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/boxes/two_level_shape.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace coppice::forestcoll {
namespace {

using std::int64_t;

constexpr int kOuter = -1;  ///< the role of a set of GPUs that is not a box

/// Switches that reach each other without passing a GPU, with the GPUs around them; and GPUs that direct links join.
struct Components {
  std::vector<int> ofNode;             ///< at GPUs, the one of their direct links; -1 without such links
  std::vector<std::vector<int>> gpus;  ///< by component: ranks, ascending

  [[nodiscard]] int of(const Network& network, const TreeArc& arc) const {
    return ofNode[network.isGpu[arc.tail] != 0 ? arc.head : arc.tail];
  }
};

std::vector<int> ranksOf(const Network& network) {
  std::vector<int> rank(network.nodeCount, -1);
  for (std::size_t i = 0; i < network.gpus.size(); ++i) {
    rank[network.gpus[i]] = static_cast<int>(i);
  }
  return rank;
}

Components componentsOf(const Network& network, const std::vector<TreeArc>& capacities) {
  std::vector<int> parent(network.nodeCount);
  std::iota(parent.begin(), parent.end(), 0);
  const auto find = [&](int node) {
    while (parent[node] != node) {
      node = parent[node] = parent[parent[node]];
    }
    return node;
  };
  std::vector<char> isMember(parent.size(), 0);
  for (int node = 0; node < network.nodeCount; ++node) {
    isMember[node] = network.isGpu[node] != 0 ? 0 : 1;
  }
  for (const TreeArc& arc : capacities) {
    if (arc.capacity > 0 && network.isGpu[arc.tail] == network.isGpu[arc.head]) {
      parent[find(arc.tail)] = find(arc.head);
      isMember[arc.tail] = isMember[arc.head] = 1;
    }
  }
  Components found;
  found.ofNode.assign(network.nodeCount, -1);
  std::map<int, int> number;
  for (int node = 0; node < network.nodeCount; ++node) {
    if (isMember[node] != 0) {
      found.ofNode[node] = number.emplace(find(node), static_cast<int>(number.size())).first->second;
    }
  }
  found.gpus.resize(number.size());
  const std::vector<int> rank = ranksOf(network);
  for (const TreeArc& arc : capacities) {
    if (arc.capacity > 0) {
      const int component = found.of(network, arc);
      for (const int end : {arc.tail, arc.head}) {
        if (rank[end] >= 0) {
          found.gpus[component].push_back(rank[end]);
        }
      }
    }
  }
  for (std::vector<int>& gpus : found.gpus) {
    std::sort(gpus.begin(), gpus.end());
    gpus.erase(std::unique(gpus.begin(), gpus.end()), gpus.end());
  }
  return found;
}

/// Sets of GPUs around components that do not hold all GPUs, each once.
struct Groups {
  std::vector<std::vector<int>> gpus;
  std::vector<int> ofComponent;  ///< -1: around all GPUs, or around none
  std::vector<std::vector<int>> ofRank;
  bool hasWhole = false;  ///< some component is around all GPUs
};

Groups groupsOf(const Components& components, int gpuCount) {
  Groups groups;
  groups.ofRank.resize(gpuCount);
  std::map<std::vector<int>, int> number;
  for (const std::vector<int>& gpus : components.gpus) {
    if (gpus.size() == static_cast<std::size_t>(gpuCount) || gpus.empty()) {
      groups.hasWhole = groups.hasWhole || !gpus.empty();
      groups.ofComponent.push_back(-1);
      continue;
    }
    const auto [place, isNew] = number.emplace(gpus, static_cast<int>(number.size()));
    groups.ofComponent.push_back(place->second);
    if (isNew) {
      groups.gpus.push_back(gpus);
      for (const int rank : gpus) {
        groups.ofRank[rank].push_back(place->second);
      }
    }
  }
  return groups;
}

/// Two families such that every GPU is in one group of each, as boxes and rails are: 0 or 1 by group. Empty where there
/// are no such families, or more than one way to choose them.
std::vector<int> twoFamilies(const Groups& groups) {
  std::vector<int> family(groups.gpus.size(), -1);
  std::vector<int> queue{0};
  family.front() = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const int rank : groups.gpus[queue[i]]) {
      for (const int other : groups.ofRank[rank]) {
        if (other == queue[i]) {
          continue;
        }
        const int wanted = 1 - family[queue[i]];
        if (family[other] < 0) {
          family[other] = wanted;
          queue.push_back(other);
        } else if (family[other] != wanted) {
          return {};
        }
      }
    }
  }
  return queue.size() == groups.gpus.size() ? family : std::vector<int>();
}

std::vector<int> leavesOf(const Network& network, const std::vector<TreeArc>& capacities, const TwoLevelShape& shape) {
  std::vector<std::vector<int>> out(network.nodeCount);
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    if (shape.isInnerArc[i] == 0 && capacities[i].capacity > 0) {
      out[capacities[i].tail].push_back(capacities[i].head);
    }
  }
  std::map<std::vector<int>, int> number;
  std::vector<int> leafOf;
  for (const std::vector<int>& box : shape.boxes) {
    std::set<int> leaves;
    for (const int rank : box) {
      for (int next : out[network.gpus[rank]]) {
        int last = network.gpus[rank];
        while (network.isGpu[next] == 0 && out[next].size() == 2) {
          const int other = out[next][out[next].front() == last ? 1 : 0];
          last = std::exchange(next, other);
        }
        leaves.insert(next);
      }
    }
    const std::vector<int> key(leaves.begin(), leaves.end());
    leafOf.push_back(number.emplace(key, static_cast<int>(number.size())).first->second);
  }
  return leafOf;
}

/// @param boxOfGroup the number of the box that a group is, or kOuter
TwoLevelShape shapeOf(const Network& network, const std::vector<TreeArc>& capacities, const Components& components,
                      const Groups& groups, const std::vector<int>& boxOfGroup) {
  TwoLevelShape shape;
  const std::size_t gpuCount = network.gpus.size();
  shape.boxOf.assign(gpuCount, -1);
  shape.boxes.resize(1 + *std::max_element(boxOfGroup.begin(), boxOfGroup.end()));
  for (std::size_t group = 0; group < boxOfGroup.size(); ++group) {
    if (boxOfGroup[group] != kOuter) {
      shape.boxes[boxOfGroup[group]] = groups.gpus[group];
      for (const int rank : groups.gpus[group]) {
        shape.boxOf[rank] = boxOfGroup[group];
      }
    }
  }
  for (std::size_t rank = 0; rank < gpuCount; ++rank) {
    if (shape.boxOf[rank] < 0) {  // a GPU with a network, but no switch of its box
      shape.boxOf[rank] = static_cast<int>(shape.boxes.size());
      shape.boxes.push_back({static_cast<int>(rank)});
    }
  }
  for (std::vector<int64_t>* side : {&shape.innerOut, &shape.innerIn, &shape.outerOut, &shape.outerIn}) {
    side->assign(gpuCount, 0);
  }
  shape.networksOf.resize(gpuCount);
  const std::vector<int> rank = ranksOf(network);
  std::vector<int64_t> totalOut(network.nodeCount, 0);
  std::vector<int64_t> totalIn(network.nodeCount, 0);
  std::map<std::pair<int, int>, int64_t> between;
  for (const TreeArc& arc : capacities) {
    totalOut[arc.tail] += arc.capacity;
    totalIn[arc.head] += arc.capacity;
    if (rank[arc.tail] >= 0 || rank[arc.head] >= 0) {
      between[{arc.tail, arc.head}] += arc.capacity;
    }
  }
  // A NIC takes from its GPU no more than it can pass on.
  const auto passedOn = [&](const TreeArc& arc, bool isOut) {
    const auto back = between.find({arc.head, arc.tail});
    const int64_t returned = back == between.end() ? 0 : back->second;
    return std::min(arc.capacity, (isOut ? totalOut[arc.head] : totalIn[arc.tail]) - returned);
  };
  for (const TreeArc& arc : capacities) {
    const int component = components.of(network, arc);
    const int group = component < 0 ? -1 : groups.ofComponent[component];
    const bool isInner = group >= 0 && boxOfGroup[group] != kOuter;
    shape.isInnerArc.push_back(isInner ? 1 : 0);
    shape.networkOf.push_back(component);
    if (arc.capacity == 0) {
      continue;
    }
    const bool isDirect = rank[arc.tail] >= 0 && rank[arc.head] >= 0;
    for (const bool isOut : {true, false}) {
      const int gpu = rank[isOut ? arc.tail : arc.head];
      if (gpu < 0) {
        continue;
      }
      auto& side = isInner ? (isOut ? shape.innerOut : shape.innerIn) : (isOut ? shape.outerOut : shape.outerIn);
      side[gpu] += isInner || isDirect ? arc.capacity : passedOn(arc, isOut);
      if (!isInner && component >= 0) {
        shape.networksOf[gpu].push_back(component);
      }
    }
  }
  for (std::vector<int>& networks : shape.networksOf) {
    std::sort(networks.begin(), networks.end());
    networks.erase(std::unique(networks.begin(), networks.end()), networks.end());
  }
  shape.leafOf = leavesOf(network, capacities, shape);
  return shape;
}

int64_t innerCapacity(const TwoLevelShape& shape) {
  return std::accumulate(shape.innerIn.begin(), shape.innerIn.end(), int64_t{0});
}

}  // namespace

std::vector<TwoLevelShape> twoLevelShapes(const Network& network, const std::vector<TreeArc>& capacities) {
  const Components components = componentsOf(network, capacities);
  const Groups groups = groupsOf(components, static_cast<int>(network.gpus.size()));
  if (groups.gpus.size() < 2) {
    return {};
  }
  const auto [fewest, max] = std::minmax_element(groups.ofRank.begin(), groups.ofRank.end(),
                                                 [](const auto& a, const auto& b) { return a.size() < b.size(); });
  std::vector<TwoLevelShape> shapes;
  if (max->size() == 1 && groups.hasWhole) {
    std::vector<int> boxOfGroup(groups.gpus.size());
    std::iota(boxOfGroup.begin(), boxOfGroup.end(), 0);
    shapes.push_back(shapeOf(network, capacities, components, groups, boxOfGroup));
  } else if (max->size() == 2 && fewest->size() == 2) {
    const std::vector<int> family = twoFamilies(groups);
    for (const int boxes : {0, 1}) {
      std::vector<int> boxOfGroup;
      int count = 0;
      for (const int member : family) {
        boxOfGroup.push_back(member == boxes ? count++ : kOuter);
      }
      if (count > 1) {
        shapes.push_back(shapeOf(network, capacities, components, groups, boxOfGroup));
      }
    }
    std::stable_sort(shapes.begin(), shapes.end(), [](const TwoLevelShape& a, const TwoLevelShape& b) {
      return innerCapacity(a) > innerCapacity(b);
    });
  }
  return shapes;
}

}  // namespace coppice::forestcoll
