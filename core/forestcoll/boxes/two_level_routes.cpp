// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/boxes/two_level_routes.hpp"

#include <algorithm>
#include <utility>

namespace coppice::forestcoll {
namespace {

/// Arcs of one box, or those between boxes, with the GPUs at their ends.
struct RoutedPart {
  std::vector<int> arcs;
  std::vector<int> ranks;
};

/// Boxes by number, then the network between them, whole or plane by plane.
std::vector<RoutedPart> partsOf(const Network& network, const std::vector<TreeArc>& capacities,
                                const TwoLevelShape& shape, std::size_t planes) {
  std::vector<int> box(network.nodeCount, -1);
  for (std::size_t rank = 0; rank < network.gpus.size(); ++rank) {
    box[network.gpus[rank]] = shape.boxOf[rank];
  }
  // Switches of a box take its number from the GPUs around them.
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (std::size_t i = 0; i < capacities.size(); ++i) {
      if (shape.isInnerArc[i] == 0) {
        continue;
      }
      int& tail = box[capacities[i].tail];
      int& head = box[capacities[i].head];
      if (tail != head && (tail < 0 || head < 0)) {
        (tail < 0 ? tail : head) = tail < 0 ? head : tail;
        isChanged = true;
      }
    }
  }
  std::vector<RoutedPart> parts(shape.boxes.size() + planes);
  for (std::size_t b = 0; b < shape.boxes.size(); ++b) {
    parts[b].ranks = shape.boxes[b];
  }
  for (std::size_t plane = 0; plane < planes; ++plane) {
    for (std::size_t rank = 0; rank < network.gpus.size(); ++rank) {
      parts[shape.boxes.size() + plane].ranks.push_back(static_cast<int>(rank));
    }
  }
  const std::vector<int>& networks = shape.networksOf.front();
  const auto planeOf = [&](std::size_t arc) {
    const auto place = std::lower_bound(networks.begin(), networks.end(), shape.networkOf[arc]) - networks.begin();
    return planes == 1 ? 0 : std::min(static_cast<std::size_t>(place), planes - 1);
  };
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    const int tail = box[capacities[i].tail];
    if (shape.isInnerArc[i] == 0) {
      parts[shape.boxes.size() + planeOf(i)].arcs.push_back(static_cast<int>(i));
    } else if (tail >= 0) {
      parts[tail].arcs.push_back(static_cast<int>(i));
    }
  }
  return parts;
}

/// Adds the routes of one part to the topology. False where they are not found.
bool addRoutes(const Network& network, const std::vector<TreeArc>& capacities, const RoutedPart& part,
               const PairDemand& demand, std::vector<int>& numberOf, LogicalTopology& topology,
               const Progress& progress) {
  Network local;
  std::vector<int> nodes;
  const auto numbered = [&](int node) {
    if (numberOf[node] < 0) {
      numberOf[node] = static_cast<int>(nodes.size());
      nodes.push_back(node);
      local.isGpu.push_back(network.isGpu[node]);
    }
    return numberOf[node];
  };
  for (const int rank : part.ranks) {
    local.gpus.push_back(numbered(network.gpus[rank]));
  }
  for (const int arc : part.arcs) {
    const TreeArc& given = capacities[arc];
    const int tail = numbered(given.tail);
    local.arcs.push_back({tail, numbered(given.head), given.capacity});
  }
  local.nodeCount = static_cast<int>(nodes.size());
  for (const int node : nodes) {
    numberOf[node] = -1;
  }
  const auto senders = static_cast<int>(part.ranks.size());
  const auto routed = routeDemands(
      local, local.arcs,
      [&](int receiver, std::vector<SenderDemand>& demands) {
        for (int sender = 0; sender < senders; ++sender) {
          const std::int64_t trees = sender == receiver ? 0 : demand(part.ranks[sender], part.ranks[receiver]);
          if (trees > 0) {
            demands.push_back({sender, trees});
          }
        }
      },
      progress);
  if (!routed) {
    return false;
  }
  const auto inputs = static_cast<int>(part.arcs.size());
  const int shift = static_cast<int>(topology.atoms.size()) - inputs;
  const auto global = [&](int atom) { return atom < 0 ? -1 : atom < inputs ? part.arcs[atom] : atom + shift; };
  for (int i = 0; i < static_cast<int>(routed->atoms.size()); ++i) {
    const Atom& atom = routed->atoms[i];
    if (i < inputs) {
      topology.atoms[part.arcs[i]].capacity += atom.capacity;
    } else {
      topology.atoms.push_back(
          {nodes[atom.tail], nodes[atom.head], atom.capacity, global(atom.first), global(atom.second)});
    }
  }
  return true;
}

}  // namespace

std::optional<LogicalTopology> routeTwoLevel(const Network& network, const std::vector<TreeArc>& capacities,
                                             const TwoLevelShape& shape, const PairDemand& inner,
                                             const std::vector<PairDemand>& outer, const Progress& progress) {
  LogicalTopology topology;
  for (const TreeArc& arc : capacities) {
    topology.atoms.push_back({arc.tail, arc.head, 0});
  }
  const std::vector<RoutedPart> parts = partsOf(network, capacities, shape, outer.size());
  std::vector<int> numberOf(network.nodeCount, -1);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const PairDemand& demand = i < shape.boxes.size() ? inner : outer[i - shape.boxes.size()];
    if (!addRoutes(network, capacities, parts[i], demand, numberOf, topology, progress)) {
      return std::nullopt;
    }
  }
  return topology;
}

}  // namespace coppice::forestcoll
