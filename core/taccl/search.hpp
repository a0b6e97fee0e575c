// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/progress.hpp"
#include "taccl/decoder.hpp"
#include "taccl/problem.hpp"

namespace coppice::taccl {

enum class ConnectionGoal { free, fewer, more };

struct SearchOptions {
  double seconds = 60;
  std::optional<std::int64_t> effort;  ///< decodes; the result then depends on it and the seed alone
  std::uint64_t seed = 1;
  int threads = 0;  ///< 0 = all cores
  ConnectionGoal goal = ConnectionGoal::free;
  Ticks bound = 0;  ///< no schedule is shorter: the search ends there
  /// Called with each better makespan, from the thread that found it, one at a time.
  std::function<void(Ticks makespan, double seconds)> onBetter = {};
};

struct Found {
  Solution solution;  ///< empty where no start reached all targets
  Score score;
  std::int64_t decodes = 0;
  double secondsToMakespan = 0;  ///< when the last better makespan was found
};

/// Simulated annealing on ways, order and messages together from greedy and noisy starts. Many changes are made where
/// the makespan hangs on them: on the chain of sends of which each waited for the one before. Several streams of random
/// numbers are followed, one on each core; with an effort always the same ones. Anytime: what there is when the time
/// is over or `progress` cancels.
[[nodiscard]] Found search(const Problem& problem, const SearchOptions& options, const Progress& progress);

}  // namespace coppice::taccl
