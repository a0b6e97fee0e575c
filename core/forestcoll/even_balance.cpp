// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/even_balance.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/checked.hpp"
#include "flow/feasibility.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

/// Parts of `amount` in proportion to the weights, whole and none above its weight. @pre amount <= sum of weights
std::vector<int64_t> shares(const std::vector<int64_t>& weights, int64_t amount) {
  const Int128 all = std::accumulate(weights.begin(), weights.end(), Int128{0});
  std::vector<int64_t> parts;
  Int128 seen = 0;
  int64_t dealt = 0;
  for (const int64_t weight : weights) {
    seen += weight;
    const auto until = static_cast<int64_t>(seen * amount / all);
    parts.push_back(until - dealt);
    dealt = until;
  }
  return parts;
}

}  // namespace

std::optional<std::vector<int64_t>> evenlyBalanced(const Network& network, const std::vector<TreeArc>& capacities,
                                                   const std::vector<int64_t>& supply, const Progress& progress) {
  const auto nodes = static_cast<std::size_t>(network.nodeCount);
  const int64_t trees = std::accumulate(supply.begin(), supply.end(), int64_t{0});
  std::vector<int64_t> excess(nodes, 0);  // what enters beyond what leaves
  std::vector<int64_t> spare(nodes, 0);   // at GPUs: what enters beyond the trees of all others
  std::vector<std::vector<int>> fromGpus(nodes);
  std::vector<std::vector<int>> toGpus(nodes);
  for (const int gpu : network.gpus) {
    spare[gpu] = supply[gpu] - trees;
  }
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    const TreeArc& arc = capacities[i];
    excess[arc.head] += arc.capacity;
    excess[arc.tail] -= arc.capacity;
    if (network.isGpu[arc.head] != 0) {
      spare[arc.head] += arc.capacity;
      toGpus[arc.tail].push_back(static_cast<int>(i));
    } else if (network.isGpu[arc.tail] != 0) {
      fromGpus[arc.head].push_back(static_cast<int>(i));
    }
  }
  std::vector<TreeArc> lowered = capacities;
  for (int node = 0; node < network.nodeCount; ++node) {
    if (network.isGpu[node] != 0 || excess[node] == 0) {
      continue;
    }
    const std::vector<int>& arcs = excess[node] > 0 ? fromGpus[node] : toGpus[node];
    std::vector<int64_t> weights;
    Int128 all = 0;
    for (const int arc : arcs) {
      const int64_t capacity = capacities[arc].capacity;
      weights.push_back(excess[node] > 0 ? capacity
                                         : std::clamp<int64_t>(spare[capacities[arc].head], 0, capacity));
      all += weights.back();
    }
    const int64_t amount = std::max(excess[node], -excess[node]);
    if (all < amount) {
      return std::nullopt;
    }
    const std::vector<int64_t> parts = shares(weights, amount);
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      lowered[arcs[i]].capacity -= parts[i];
      spare[lowered[arcs[i]].head] -= parts[i];
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
