// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "synth/problem.hpp"
#include "synth/quotient.hpp"

namespace coppice::synth {

/// Local search over trees in time, for collectives whose chunks reach all ranks. Every rank receives each chunk once,
/// from a rank that has it by then; sends move away from links that are too full for the rounds of their step, and the
/// weight of links that stay full grows (breakout). Starts from trees by distance, then takes rounds away as long as it
/// finds an answer. In the quotient by a group of symmetries the images of a send count with it.
class TreeSearch {
public:
  /// Every rank is a source or a destination of every class; and there are few enough steps.
  [[nodiscard]] static bool applies(const Problem& problem, int steps);

  /// @param group complete, or empty; none but the identity fixes a rank or a class @pre applies(), and the
  /// steps suffice for the distances
  TreeSearch(const Problem& problem, std::int64_t n, std::span<const Symmetry> group, int steps);

  struct Goal {
    std::int64_t min = 0;  ///< rounds that end the search
    std::uint64_t seed = 1;
    std::int64_t work = 0;          ///< places for sends that are looked at
    std::vector<double> plan = {};  ///< rounds of each step, as a start; up to a factor; empty = even
  };
  /// The fewest rounds found; rounds and sends are pruned. nullopt where it is stopped before there is anything.
  [[nodiscard]] std::optional<Steps> run(const Goal& goal, const std::function<bool()>& stop) const;

private:
  class Run;

  const Problem& m_problem;
  std::int64_t m_n;
  Quotient m_quotient;
  int m_steps;
};

}  // namespace coppice::synth
