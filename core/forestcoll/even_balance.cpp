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

}  // namespace

std::optional<std::vector<int64_t>> evenlyBalanced(const Network& network, const std::vector<TreeArc>& capacities,
                                                   const std::vector<int64_t>& supply, const Progress& progress) {
  const auto nodes = static_cast<std::size_t>(network.nodeCount);
  const int64_t trees = std::accumulate(supply.begin(), supply.end(), int64_t{0});
  const auto others = static_cast<int64_t>(network.gpus.size()) - 1;
  std::vector<int64_t> excess(nodes, 0);    // what enters beyond what leaves
  std::vector<int64_t> spareIn(nodes, 0);   // at GPUs: what enters beyond the trees of all others
  std::vector<int64_t> spareOut(nodes, 0);  // what leaves beyond the own trees, straight to all others
  std::vector<std::vector<int>> fromGpus(nodes);
  std::vector<std::vector<int>> toGpus(nodes);
  for (const int gpu : network.gpus) {
    spareIn[gpu] = supply[gpu] - trees;
    spareOut[gpu] = checkedMul(-supply[gpu], others);
  }
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    const TreeArc& arc = capacities[i];
    excess[arc.head] += arc.capacity;
    excess[arc.tail] -= arc.capacity;
    spareIn[arc.head] += arc.capacity;
    spareOut[arc.tail] += arc.capacity;
    if (network.isGpu[arc.head] != 0) {
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
    const bool isIn = excess[node] > 0;
    std::vector<Donor> donors;
    for (const int arc : isIn ? fromGpus[node] : toGpus[node]) {
      const TreeArc& ends = capacities[arc];
      const int64_t spare = isIn ? spareOut[ends.tail] : spareIn[ends.head];
      donors.push_back({arc, spare, isIn ? ends.capacity : std::clamp<int64_t>(spare, 0, ends.capacity)});
    }
    if (!levelDown(donors, isIn ? excess[node] : -excess[node], lowered)) {
      return std::nullopt;
    }
    for (const Donor& donor : donors) {
      const TreeArc& ends = capacities[donor.arc];
      (isIn ? spareOut[ends.tail] : spareIn[ends.head]) -= ends.capacity - lowered[donor.arc].capacity;
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
