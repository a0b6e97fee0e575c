// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "forestcoll/network.hpp"
#include "schedule/forest.hpp"

namespace coppice::forestcoll {

/// The fewest trees per root that reach a rate.
///
/// The dissertation takes the smallest k for which all k*b/x* are whole numbers (B.5.1). Fewer trees can reach the same
/// rate, because links away from the bottleneck have room to spare: with t the time per unit of data (U = k*t), k trees
/// suffice iff the capacities floor(k*t*b) are feasible for the supplies k*a(v) (Thm 33 at U = k*t), that is iff
///
///     sum over e leaving S of floor(k*t*b_e) >= k * demand(S)       for every S that some GPU lies outside of.
///
/// A cut that is tight at t has equality without the floors. So k*t*b_e must be a whole number on all its links, and k
/// a multiple of the denominators of their t*b_e. The search visits these multiples in ascending order. It keeps every
/// cut that has refused a k and evaluates these before it runs a flow, so most values cost no flow at all.
class MinimumK {
public:
  /// @param time t in network units: p/q of the worst cut, or more where some loss is accepted.
  /// @param tight cuts of the network; those that are tight at t narrow the search, the others are ignored.
  /// @param enough a k that is known to suffice, such as q for t = p/q; the search ends there.
  MinimumK(const Network& network, const Rational& time, std::span<const schedule::Cut> tight, std::int64_t enough);

  /// The smallest k above the last one returned (above 0 at first) whose capacities are feasible. Every smaller one is
  /// refused by a cut. Spends progress.work: WorkLimitReached leaves the question open. Throws OverflowError,
  /// CancelledError.
  [[nodiscard]] std::int64_t next(const Progress& progress);
  /// Every answer is a multiple of this.
  [[nodiscard]] std::int64_t step() const { return m_step; }

private:
  struct KnownCut {
    std::vector<std::int64_t> bandwidths;  ///< of the links that leave S
    std::int64_t demand = 0;
  };

  [[nodiscard]] bool isRefused(const KnownCut& cut, std::int64_t k) const;
  [[nodiscard]] bool isRefusedByKnownCut(std::int64_t k, const Progress& progress);
  [[nodiscard]] bool isFeasible(std::int64_t k, const Progress& progress);

  const Network& m_network;
  Rational m_time;
  std::int64_t m_step = 1;
  std::int64_t m_enough = 1;
  std::int64_t m_last = 0;
  std::vector<KnownCut> m_cuts;  ///< the one that refused last comes first
};

}  // namespace coppice::forestcoll
