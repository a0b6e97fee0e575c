// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "synth/problem.hpp"
#include "synth/symmetry.hpp"

namespace coppice::synth {

/// Rounds that this load needs on a limit of this rate: smallest r with floor(rate * r) >= load.
[[nodiscard]] std::int64_t roundsFor(const Rational& rate, std::int64_t load);

/// Whole rounds, at least one a step, that add up to `total` and follow the wishes as far as they can.
[[nodiscard]] std::vector<std::int64_t> wholeRounds(const std::vector<double>& wished, std::int64_t total);

/// A problem in the quotient by a group of symmetries: the chunks of one class of each orbit, and one limit of each
/// orbit. What happens to the images of a chunk follows.
struct Quotient {
  /// @param symmetries complete, or empty; none but the identity fixes a rank or a class; must outlive this
  Quotient(const Problem& whole, std::span<const Symmetry> symmetries);

  [[nodiscard]] int orbits() const { return static_cast<int>(min.size()); }
  [[nodiscard]] const Rational& rate(std::size_t orbit) const { return problem->topology.limits[min[orbit]].perRound; }
  /// The sends with their images, pruned; rounds are as few as these need. Chunk i of the class of number c is c * n +
  /// i in `sends`.
  [[nodiscard]] Steps expanded(std::int64_t n, int steps, std::span<const Send> sends) const;

  const Problem* problem;
  std::span<const Symmetry> group;
  std::vector<int> classes;                ///< one of each orbit
  std::vector<int> min;                    ///< by orbit: one of its limits
  std::vector<std::int64_t> size;          ///< by orbit: its limits
  std::vector<std::int64_t> weight;        ///< by orbit: what one send and its images put on each of its limits
  std::vector<std::vector<int>> orbitsOf;  ///< by arc, a limit's orbit once for each limit
};

}  // namespace coppice::synth
