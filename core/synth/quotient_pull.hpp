// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "synth/problem.hpp"
#include "synth/quotient.hpp"
#include "synth/symmetry.hpp"

namespace coppice::synth {

/// Pull for fabrics of many ranks: step after step, all receivers together, in the quotient by a group of symmetries.
/// Rounds are wished for each step; a step takes more where otherwise a destination would be too far for the steps that
/// are left, so that a schedule is found wherever the steps suffice at all.
///
/// A send counts most where a destination is that far, then by what it brings nearer to how many ranks, what few hold,
/// and some noise.
class QuotientPull {
public:
  /// @param group complete, or empty; none but the identity fixes a rank or a class
  QuotientPull(const Problem& problem, std::int64_t n, std::span<const Symmetry> group);

  /// Work of one pass, in units of some nanoseconds.
  [[nodiscard]] std::int64_t workOf(int steps) const;

  /// nullopt where it is stopped, or takes more than `maxRounds`. Rounds are as few as the sends need; pruned.
  [[nodiscard]] std::optional<Steps> run(std::span<const std::int64_t> rounds, std::int64_t maxRounds,
                                         std::uint64_t seed, const std::function<bool()>& stop) const;

private:
  struct State;
  class Step;

  [[nodiscard]] State start() const;

  const Problem& m_problem;
  const Topology& m_topology;
  std::int64_t m_n;
  Quotient m_quotient;
  std::vector<std::uint8_t> m_distance;  ///< by ranks from and to; kFar = not reached
};

}  // namespace coppice::synth
