// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/even_balance.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/checked.hpp"
#include "flow/feasibility.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

constexpr Int128 kMaxTrees = std::numeric_limits<int64_t>::max() / 4;

/// What an arc can lose.
struct Donor {
  int arc = 0;
  int64_t spare = 0;  ///< of its GPU
  int64_t limit = 0;
};

/// Brings the largest spares down to a common level, so that they lose `amount` together. False where limits forbid it.
bool levelDown(const std::vector<Donor>& donors, int64_t amount, std::vector<TreeArc>& arcs) {
  Int128 all = 0;
  int64_t low = 0;  // enough is above it
  int64_t high = 0;
  for (const Donor& donor : donors) {
    all += donor.limit;
    low = std::min(low, donor.spare - donor.limit);
    high = std::max(high, donor.spare);
  }
  if (all < amount) {
    return false;
  }
  const auto part = [](const Donor& donor, int64_t level) {
    return std::clamp<int64_t>(donor.spare - level, 0, donor.limit);
  };
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    Int128 above = 0;
    for (const Donor& donor : donors) {
      above += part(donor, middle);
    }
    (above >= amount ? low : high) = middle;
  }
  int64_t left = amount;
  for (const Donor& donor : donors) {
    arcs[donor.arc].capacity -= part(donor, high);
    left -= part(donor, high);
  }
  for (const Donor& donor : donors) {
    const int64_t more = std::min(left, part(donor, low) - part(donor, high));
    arcs[donor.arc].capacity -= more;
    left -= more;
  }
  return left == 0;
}

/// Nodes by their distance from the nearest GPU.
struct Layers {
  std::vector<int> distance;  ///< by node; -1 = not reached
  std::vector<int> order;     ///< the GPUs, then the switches, near ones first
};

Layers layersOf(const Network& network, const std::vector<TreeArc>& capacities,
                const std::vector<std::vector<int>>& arcsAt) {
  Layers layers{std::vector<int>(arcsAt.size(), -1), network.gpus};
  for (const int gpu : network.gpus) {
    layers.distance[gpu] = 0;
  }
  for (std::size_t i = 0; i < layers.order.size(); ++i) {
    const int node = layers.order[i];
    for (const int arc : arcsAt[node]) {
      const int other = capacities[arc].tail + capacities[arc].head - node;
      if (layers.distance[other] < 0) {
        layers.distance[other] = layers.distance[node] + 1;
        layers.order.push_back(other);
      }
    }
  }
  return layers;
}

}  // namespace

std::optional<std::vector<int64_t>> evenlyBalanced(const Network& network, const std::vector<TreeArc>& capacities,
                                                   const std::vector<int64_t>& supply, const Progress& progress) {
  const auto nodes = static_cast<std::size_t>(network.nodeCount);
  const int64_t trees = std::accumulate(supply.begin(), supply.end(), int64_t{0});
  const auto others = static_cast<int64_t>(network.gpus.size()) - 1;
  std::vector<int64_t> excess(nodes, 0);    // what enters beyond what leaves
  std::vector<int64_t> spareIn(nodes, 0);   // at GPUs: what enters beyond the trees of all others
  std::vector<int64_t> spareOut(nodes, 0);  // what leaves beyond the own trees, straight to all others
  std::vector<std::vector<int>> arcsAt(nodes);
  for (const int gpu : network.gpus) {
    spareIn[gpu] = supply[gpu] - trees;
    spareOut[gpu] = -static_cast<int64_t>(std::min(Int128{supply[gpu]} * others, kMaxTrees));
  }
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    const TreeArc& arc = capacities[i];
    excess[arc.head] += arc.capacity;
    excess[arc.tail] -= arc.capacity;
    spareIn[arc.head] += arc.capacity;
    spareOut[arc.tail] += arc.capacity;
    arcsAt[arc.tail].push_back(static_cast<int>(i));
    arcsAt[arc.head].push_back(static_cast<int>(i));
  }
  const Layers layers = layersOf(network, capacities, arcsAt);
  const std::vector<int>& distance = layers.distance;
  std::vector<TreeArc> lowered = capacities;
  // Far switches come first, and leave what they change to nearer ones.
  for (std::size_t i = layers.order.size(); i-- > network.gpus.size();) {
    const int node = layers.order[i];
    if (excess[node] == 0) {
      continue;
    }
    const bool isIn = excess[node] > 0;
    std::vector<Donor> donors;
    for (const int arc : arcsAt[node]) {
      const TreeArc& ends = lowered[arc];
      const int other = isIn ? ends.tail : ends.head;
      if (other == node || distance[other] != distance[node] - 1) {
        continue;
      }
      if (network.isGpu[other] == 0) {
        donors.push_back({arc, ends.capacity, ends.capacity});
      } else if (isIn) {
        donors.push_back({arc, spareOut[other], ends.capacity});
      } else {
        donors.push_back({arc, spareIn[other], std::clamp<int64_t>(spareIn[other], 0, ends.capacity)});
      }
    }
    std::vector<int64_t> before;
    for (const Donor& donor : donors) {
      before.push_back(lowered[donor.arc].capacity);
    }
    if (!levelDown(donors, isIn ? excess[node] : -excess[node], lowered)) {
      return std::nullopt;
    }
    for (std::size_t j = 0; j < donors.size(); ++j) {
      const TreeArc& ends = lowered[donors[j].arc];
      const int64_t lost = before[j] - ends.capacity;
      excess[ends.head] -= lost;
      excess[ends.tail] += lost;
      spareIn[ends.head] -= lost;
      spareOut[ends.tail] -= lost;
    }
  }
  flow::FeasibilityOracle<int64_t> oracle(network.nodeCount, lowered, supply, network.gpus);
  if (!oracle.isFeasible(progress)) {
    return std::nullopt;
  }
  std::vector<int64_t> found;
  for (const TreeArc& arc : lowered) {
    found.push_back(arc.capacity);
  }
  return found;
}

}  // namespace coppice::forestcoll
