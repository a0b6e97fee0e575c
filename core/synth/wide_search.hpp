// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "synth/boxes.hpp"
#include "synth/problem.hpp"
#include "synth/scatter_gather.hpp"
#include "synth/two_level.hpp"
#include "synth/wide_pull.hpp"

namespace coppice::synth {

/// Schedules of few steps and few rounds on fabrics of many ranks, without a solver and without proofs: two levels
/// where the fabric falls into equal boxes, local search over trees, and pull with a beam and restarts.
class WideSearch {
public:
  /// Problems of more ranks are out of a solver's reach.
  static constexpr int kMaxOfSolver = 32;

  /// The problem must outlive this.
  WideSearch(const Problem& problem, std::uint64_t seed, const Progress& progress);

  [[nodiscard]] const std::optional<Boxes>& boxes() const { return m_boxes; }
  [[nodiscard]] bool isWide() const { return m_problem.topology.nodes > kMaxOfSolver; }

  struct Found {
    Steps steps;
    std::int64_t rounds = 0;
    std::string how;
  };
  /// Searches the box's own schedules at the first call, for at most `seconds`. Throws CancelledError.
  std::optional<Found> byTwoLevels(int steps, std::int64_t n, double seconds);
  /// Rounds alone, which takes less time.
  std::optional<std::int64_t> roundsOfTwoLevels(int steps, std::int64_t n, double seconds);

  /// broadcast alone: how many chunks make one part, see ScatterGather; 0 where that does not apply.
  std::int64_t chunksOfPart(double seconds);
  std::optional<std::int64_t> roundsOfScatterGather(int steps, std::int64_t parts);
  std::optional<Found> byScatterGather(int steps, std::int64_t parts);

  struct PullGoal {
    int steps = 0;
    std::int64_t n = 1;
    std::int64_t min = 0;                  ///< rounds that end the search: no fewer are possible, or no fewer needed
    std::optional<std::int64_t> max = {};  ///< rounds that are worth finding; absent = any
    std::vector<double> plan = {};         ///< rounds of each step per chunk, of the relaxation; empty = even
    std::int64_t work = 0;                 ///< how much to try
  };
  /// Restarts with growing beams, plans that differ from the best so far, in the quotient by groups of symmetries and
  /// without. Equal seeds give equal answers as long as `stop` does not end it. Throws CancelledError.
  std::optional<Found> byPull(const PullGoal& goal, const std::function<bool()>& stop);
  /// Where chunks reach all ranks: local search over trees, from several spreads of the rounds over the steps, in the
  /// quotient by groups of symmetries and without; work in the units of TreeSearch. nullopt where that does not apply,
  /// or nothing is found within goal.most. Equal seeds as above. Throws CancelledError.
  std::optional<Found> byTrees(const PullGoal& goal, const std::function<bool()>& stop);

private:
  TwoLevel* twoLevel(double seconds);
  const std::vector<std::vector<Symmetry>>& groups();

  const Problem& m_problem;
  std::uint64_t m_seed;
  const Progress& m_progress;
  std::optional<Boxes> m_boxes;
  std::vector<int> m_boxOf;
  bool m_isTwoLevelKnown = false;
  std::optional<TwoLevel> m_twoLevel;
  bool m_isScatterGatherKnown = false;
  std::unique_ptr<ScatterGather> m_scatterGather;
  std::optional<std::vector<std::vector<Symmetry>>> m_groups;  ///< the largest first; the last one is empty
};

}  // namespace coppice::synth
