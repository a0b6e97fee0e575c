// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/network.hpp"

#include <map>
#include <utility>

#include "base/checked.hpp"
#include "symmetry/fabric_parts.hpp"

namespace coppice::forestcoll {

using std::int64_t;

bool Network::isBalancedAtSwitches() const {
  return unbalancedSwitches(*this, arcs).empty();
}

Network makeNetwork(int nodeCount, std::span<const fabric::NodeIndex> gpus, std::span<const fabric::Arc> arcs,
                    std::span<const int64_t> demandByRank) {
  Network network;
  network.nodeCount = nodeCount;
  network.isGpu.assign(network.nodeCount, 0);
  network.demand.assign(network.nodeCount, 0);
  network.gpus.assign(gpus.begin(), gpus.end());
  for (std::size_t rank = 0; rank < network.gpus.size(); ++rank) {
    network.isGpu[network.gpus[rank]] = 1;
    network.demand[network.gpus[rank]] = demandByRank[rank];
    network.totalDemand = checkedAdd(network.totalDemand, demandByRank[rank]);
  }
  // A fabric has few different bandwidths, and fractions cost more than looking them up.
  std::map<std::pair<int64_t, int64_t>, int64_t> capacities;
  const auto keyOf = [](const fabric::Arc& arc) {
    const Rational& value = arc.bandwidth.gigabytesPerSecond();
    return std::pair(value.numerator(), value.denominator());
  };
  Rational unit;
  for (const fabric::Arc& arc : arcs) {
    if (capacities.try_emplace(keyOf(arc), 0).second) {
      unit = greatestCommonDivisor(unit, arc.bandwidth.gigabytesPerSecond());
    }
  }
  for (auto& [bandwidth, capacity] : capacities) {
    capacity = (Rational(bandwidth.first, bandwidth.second) / unit).numerator();
  }
  network.unit = Bandwidth(unit);
  network.arcs.reserve(arcs.size());
  for (const fabric::Arc& arc : arcs) {
    network.arcs.push_back({arc.tail, arc.head, capacities.find(keyOf(arc))->second});
  }
  return network;
}

Int128 treeCount(const Network& network, std::span<const int64_t> supply) {
  Int128 trees = 0;
  for (const int gpu : network.gpus) {
    trees += supply[gpu];
  }
  return trees;
}

bool areSumsSmall(const Network& network, std::span<const TreeArc> capacities, std::span<const int64_t> supply) {
  constexpr Int128 kMax = Int128{1} << 56;
  Int128 capacity = 0;
  for (const TreeArc& arc : capacities) {
    capacity += arc.capacity;
  }
  return capacity < kMax && treeCount(network, supply) * static_cast<int64_t>(network.gpus.size()) < kMax;
}

Network makeNetwork(const fabric::Fabric& fabric, std::span<const int64_t> demandByRank) {
  Network network = makeNetwork(fabric.nodeCount(), fabric.gpus(), fabric.arcs(), demandByRank);
  constexpr int kFewGpus = 256;  // their flows cost less than looking for symmetry
  if (fabric.gpuCount() > kFewGpus) {
    constexpr int64_t kMaxWork = int64_t{1} << 24;
    const symmetry::ColouredDigraph graph = symmetry::graphOf(fabric, demandByRank);
    network.orbitOf = symmetry::orbitsOf(graph, symmetry::candidateParts(graph, fabric), kMaxWork).ofNode;
  }
  return network;
}

std::vector<int> unbalancedSwitches(const Network& network, std::span<const TreeArc> arcs) {
  std::vector<Int128> surplus(network.nodeCount, 0);
  for (const TreeArc& arc : arcs) {
    surplus[arc.head] += arc.capacity;
    surplus[arc.tail] -= arc.capacity;
  }
  std::vector<int> nodes;
  for (int v = 0; v < network.nodeCount; ++v) {
    if (network.isGpu[v] == 0 && surplus[v] != 0) {
      nodes.push_back(v);
    }
  }
  return nodes;
}

std::vector<int> hopsFromGpus(const Network& network, std::span<const TreeArc> arcs) {
  std::vector<std::vector<int>> near(network.nodeCount);
  for (const TreeArc& arc : arcs) {
    near[arc.tail].push_back(arc.head);
    near[arc.head].push_back(arc.tail);
  }
  std::vector<int> hops(network.nodeCount, -1);
  std::vector<int> queue = network.gpus;
  for (const int gpu : queue) {
    hops[gpu] = 0;
  }
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const int next : near[queue[i]]) {
      if (hops[next] < 0) {
        hops[next] = hops[queue[i]] + 1;
        queue.push_back(next);
      }
    }
  }
  return hops;
}

}  // namespace coppice::forestcoll
