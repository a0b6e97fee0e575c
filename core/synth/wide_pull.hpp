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

struct PullEffort {
  std::uint64_t seed = 1;
  int width = 1;     ///< states kept after each step
  int branches = 1;  ///< continuations tried of each
};

/// Pull for fabrics of many ranks: step after step, all receivers together, in the quotient by a group of symmetries,
/// with a beam of states. Rounds are wished for each step; a step takes more where otherwise a destination would be too
/// far for the steps that are left, so that a schedule is found wherever the steps suffice at all.
///
/// A send counts most where a destination is that far; then where it brings a chunk into a box that lacks it, and then
/// by what it brings nearer to how many ranks, what few hold, and some noise.
class WidePull {
public:
  /// @param group complete, or empty; none but the identity fixes a rank or a class
  /// @param boxOf by rank; all 0 = no boxes
  WidePull(const Problem& problem, std::int64_t n, std::span<const Symmetry> group, std::span<const int> boxOf);

  /// Work of one pass with one state, in units of some nanoseconds.
  [[nodiscard]] std::int64_t workOf(int steps) const;

  /// nullopt where it is stopped, or takes more than `maxRounds`. Rounds are as few as the sends need; pruned.
  [[nodiscard]] std::optional<Steps> run(std::span<const std::int64_t> rounds, std::int64_t maxRounds,
                                         const PullEffort& effort, const std::function<bool()>& stop) const;

private:
  struct State;
  class Step;

  [[nodiscard]] State start() const;
  [[nodiscard]] double estimate(const State& state) const;

  const Problem& m_problem;
  const Topology& m_topology;
  std::int64_t m_n;
  Quotient m_quotient;
  std::vector<int> m_boxOf;
  int m_boxes = 1;
  std::vector<std::uint8_t> m_distance;  ///< by ranks from and to; kFar = not reached
  std::vector<double> m_rateInto;        ///< by rank
  std::vector<double> m_rateIntoBox;     ///< by box
};

}  // namespace coppice::synth
