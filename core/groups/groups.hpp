// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "lp/work_limit.hpp"
#include "schedule/concurrent.hpp"

/// How fast several collectives can be that run at the same time (schedule/concurrent.hpp), exactly.
namespace coppice::groups {

struct Request {
  /// Work after which the search ends; what is found by then is exact, as bounds.
  lp::Milliseconds budget = lp::Milliseconds(20'000);
};

struct Optimum {
  Bandwidth lower;  ///< L: the trees of the proof reach it
  Bandwidth upper;  ///< the prices of the proof show that nothing is faster
  schedule::ConcurrentProof proof;
  std::vector<Rational> demands;  ///< by group: its part of what all demand at the prices
  std::vector<int> classes;       ///< by group: the first of those that symmetries take to it
  int linkClasses = 0;            ///< links that the groups may use, up to symmetry

  [[nodiscard]] bool isExact() const { return lower == upper; }
};

/// The dual program over prices of links, equal on links that a symmetry of fabric and groups takes to each other, by
/// cutting planes: each tree that is cheapest at some prices is a row. The multipliers of the rows are the mixture of
/// trees that reaches the optimum. A group's cheapest tree is a cheapest arborescence between its members, over the
/// shortest paths through relays. Both bounds are computed in whole numbers.
/// Errors: badUsage (a group breaks the rules of ConcurrentGroup), infeasible (a group cannot reach all its members
/// over links that it may use), overflow, cancelled, limit.
Result<Optimum> optimum(const fabric::Fabric& fabric, const schedule::ConcurrentDemand& demand,
                        const Request& request = {}, const Progress& progress = {});

/// The groups of one axis of a mesh of ranks, the last axis fastest: ranks that differ in that coordinate alone.
/// Errors: badUsage (the sizes do not multiply to `ranks`; no such axis; an axis of size 1).
Result<std::vector<schedule::ConcurrentGroup>> meshGroups(std::span<const int> sizes, int axis, int ranks,
                                                          Collective collective = Collective::allgather);
/// Groups of `size` ranks, each `stride` behind the one before. `size` x `stride` must divide `ranks`.
[[nodiscard]] std::vector<schedule::ConcurrentGroup> axisGroups(std::int64_t size, std::int64_t stride, int ranks,
                                                                Collective collective);

/// "8x16" as {8, 16}. Errors: badUsage.
Result<std::vector<int>> parseMesh(const std::string& text);

}  // namespace coppice::groups
