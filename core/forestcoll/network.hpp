// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "flow/feasibility.hpp"
#include "schedule/forest.hpp"

namespace coppice::forestcoll {

using TreeArc = flow::CapacityArc<std::int64_t>;

/// The fabric as the algorithms see it: dense nodes and integer bandwidths without a common divisor, so that Prop.
/// B.5.1 reads k = q and U = p for 1/x* = p/q in these units.
struct Network {
  int nodeCount = 0;
  std::vector<char> isGpu;           ///< by node
  std::vector<int> gpus;             ///< node of each rank
  std::vector<TreeArc> arcs;         ///< capacity = bandwidth / unit; one per ordered pair
  Bandwidth unit;                    ///< per capacity unit
  std::vector<std::int64_t> demand;  ///< by node: a(v), the data rooted there; 0 at switches
  std::int64_t totalDemand = 0;
  /// By node the lowest node of its orbit under symmetries of the network; empty = not looked for.
  std::vector<int> orbitOf = {};

  [[nodiscard]] bool isBalancedAtSwitches() const;
};

/// Demands by rank, without a common divisor. Throws OverflowError.
[[nodiscard]] Network makeNetwork(const fabric::Fabric& fabric, std::span<const std::int64_t> demandByRank);

/// The same from the parts of a fabric, without looking for symmetry.
[[nodiscard]] Network makeNetwork(int nodeCount, std::span<const fabric::NodeIndex> gpus,
                                  std::span<const fabric::Arc> arcs, std::span<const std::int64_t> demandByRank);

/// Nodes whose in and out capacity differ, among switches and nics only.
[[nodiscard]] std::vector<int> unbalancedSwitches(const Network& network, std::span<const TreeArc> arcs);

/// K, the trees of all roots together.
[[nodiscard]] Int128 treeCount(const Network& network, std::span<const std::int64_t> supply);

/// Whether all capacities together, and the trees of all roots to all GPUs, stay below 2^56. Accelerations that add
/// them up in 64 bits and multiply two such sums in 128 bits leave other networks to the general algorithms.
[[nodiscard]] bool areSumsSmall(const Network& network, std::span<const TreeArc> capacities,
                                std::span<const std::int64_t> supply);

/// By node: hops to the nearest GPU over the arcs in either direction; -1 where there is no path.
[[nodiscard]] std::vector<int> hopsFromGpus(const Network& network, std::span<const TreeArc> arcs);

}  // namespace coppice::forestcoll
