// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/rational.hpp"
#include "fabric/fabric.hpp"
#include "flow/feasibility.hpp"
#include "schedule/forest.hpp"

namespace coppice::forestcoll {

using TreeArc = flow::CapacityArc<std::int64_t>;

/// Unwinds the stages of this module with the error that the public entry returns.
struct Failure {
  Error error;
};

/// The fabric as the algorithms see it: dense nodes and integer bandwidths without a common divisor, so that Prop.
/// B.5.1 reads k = q and U = p for 1/x* = p/q in these units.
struct Network {
  int nodeCount = 0;
  std::vector<char> isGpu;           ///< by node
  std::vector<int> gpus;             ///< node of each rank
  std::vector<TreeArc> arcs;         ///< capacity = bandwidth / unit; one per ordered pair
  Rational unit;                     ///< GB/s per capacity unit
  std::vector<std::int64_t> demand;  ///< by node: a(v), the data rooted there; 0 at switches
  std::int64_t totalDemand = 0;
  /// By node the lowest node that a symmetry of the network maps onto it (symmetryClasses); empty = not looked for.
  std::vector<int> symmetryClass = {};

  [[nodiscard]] bool isBalancedAtSwitches() const;
};

/// Demands by rank, without a common divisor. Throws OverflowError.
[[nodiscard]] Network makeNetwork(const fabric::Fabric& fabric, std::span<const std::int64_t> demandByRank);

/// Nodes whose in and out capacity differ, among switches and nics only.
[[nodiscard]] std::vector<int> unbalancedSwitches(const Network& network, std::span<const TreeArc> arcs);

/// By node: hops to the nearest GPU over the arcs in either direction; -1 where there is no path.
[[nodiscard]] std::vector<int> hopsFromGpus(const Network& network, std::span<const TreeArc> arcs);

/// max over S of demand(S) / B+(S), as p/q in capacity units, with the node set S that proves it.
struct CutRatio {
  std::int64_t demand = 0;  ///< p before reduction
  std::int64_t exit = 0;    ///< q before reduction
  std::vector<int> nodes;   ///< S, ascending

  [[nodiscard]] Rational value() const { return {demand, exit}; }
};

/// Theorem 23 by Newton's method (Dinkelbach) inside one pass over the sinks: a sink that falls short at ratio p/q
/// shows a cut with a larger ratio; a sink that passed stays right when the ratio grows. Exact, no binary search.
/// Throws Failure (infeasible), OverflowError, CancelledError.
[[nodiscard]] CutRatio worstCut(const Network& network, const Progress& progress);

/// Distinct cuts of the given ratio that cheap searches find: the certificate first, then the minimal and maximal ones
/// around the first sinks.
[[nodiscard]] std::vector<schedule::Cut> bottleneckCuts(const Network& network, const CutRatio& worst,
                                                        const Progress& progress);

/// Algorithm 5 and Theorems 33-35: least U (in 1/capacity units) for which capacities floor(U*b) and supplies k*a(v)
/// are feasible. `start` is any lower bound, such as k times the worst ratio. Throws as worstCut.
[[nodiscard]] Rational leastScale(const Network& network, std::int64_t k, const Rational& start,
                                  const Progress& progress);
/// The next U above the given one at which some floor(U*b) grows.
[[nodiscard]] Rational nextScale(const Network& network, const Rational& scale);
/// floor(U * b) for every arc.
[[nodiscard]] std::vector<TreeArc> scaledArcs(const Network& network, const Rational& scale);
/// Capacities and supplies must sum to less than a quarter of the 64-bit range: flows then stay exact, residual pairs
/// included. Throws OverflowError.
void requireFits(std::span<const TreeArc> capacities, const Network& network, std::int64_t k);
/// k * a(v) for every node.
[[nodiscard]] std::vector<std::int64_t> supplies(const Network& network, std::int64_t k);

}  // namespace coppice::forestcoll
