// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/repair/kept_trees.hpp"

/// What kept trees leave to new ones.
///
/// Let L be the load of the kept copies, s(v) the copies that root v has lost, S their sum, and t the trees that a unit
/// of capacity carries. By Edmonds' branchings with supplies at the roots (Theorem 30), and Theorem 26 for the
/// switches, the lost copies can be packed beside the kept ones exactly if t*b(e) >= L(e) on every arc and
///
///     t*b(in Q) - L(in Q) >= S - s(Q)      for every node set Q that holds a GPU.
///
/// So the least t is the largest (S - s(Q) + L(in Q)) / b(in Q) or L(e) / b(e), which Newton's method finds exactly as
/// it does the optimum of a fabric. Each copy enters every Q without its root; one that enters Q more often than this
/// wastes the difference, and its release lowers no side of any of these conditions. So a set that has held once still
/// holds after a release, and one pass over the sinks is enough.
namespace coppice::forestcoll {

struct LeastTime {
  Rational time;                        ///< t, trees per unit of capacity
  std::vector<std::vector<int>> tight;  ///< sets Q that allow no less; none where an arc or `start` decides
};

/// The least t, at least `start`, with all kept copies. Throws OverflowError, CancelledError.
/// @pre every GPU of the network can be reached
[[nodiscard]] LeastTime leastTime(const Network& network, const KeptTrees& kept, const Rational& start,
                                  const Progress& progress);

/// Releases copies until t is enough: at each set that is violated those that waste the most, the first ones of equals.
/// Throws Failure (internal, where no release is enough), OverflowError, CancelledError.
void releaseUntil(const Network& network, KeptTrees& kept, const Rational& time, const Progress& progress);

/// Trees per arc for the lost copies, all times `factor`.
struct Room {
  std::int64_t factor = 1;
  Rational time;                     ///< t
  std::vector<TreeArc> capacities;   ///< feasible, balanced at switches
  std::vector<std::int64_t> supply;  ///< by node
};

/// The room at t with a small factor: the smallest one tried with which t <= `limit` is enough in whole trees, or else
/// one for the least t; t*b(e) is then a whole number on the arcs into `tight` sets.
/// Throws Failure (unbalanced, where switches that only forward cannot use what is left), OverflowError,
/// CancelledError.
[[nodiscard]] Room roomAt(const Network& network, const KeptTrees& kept, const LeastTime& least, const Rational& limit,
                          const Progress& progress);

}  // namespace coppice::forestcoll
