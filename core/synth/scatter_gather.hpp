// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/progress.hpp"
#include "synth/boxes.hpp"
#include "synth/problem.hpp"
#include "synth/two_level.hpp"

namespace coppice::synth {

class Search;

/// broadcast on n equal boxes: the root scatters as many chunks as there are ranks, or a multiple, by maximum flow;
/// then an allgather of two levels. Takes more chunks than pull, and fewer rounds for each.
class ScatterGather {
public:
  /// nullptr where the problem is not a broadcast, or two levels do not apply. Throws CancelledError.
  static std::unique_ptr<ScatterGather> make(const Problem& broadcast, const Boxes& boxes, double seconds,
                                             std::uint64_t seed, const Progress& progress);
  ~ScatterGather();

  [[nodiscard]] int ranks() const { return m_allgather.topology.nodes; }
  /// The fewest rounds found with `parts` chunks for each rank, so parts * ranks() in all. Throws CancelledError.
  std::optional<std::int64_t> rounds(int steps, std::int64_t parts);
  std::optional<Steps> schedule(int steps, std::int64_t parts);

private:
  struct Choice {
    int scatterSteps = 0;
    std::int64_t rounds = 0;
  };
  ScatterGather(Problem allgather, std::uint64_t seed, const Progress& progress);
  const Steps* scatter(int steps, std::int64_t parts);
  std::optional<Choice> choose(int steps, std::int64_t parts);

  Problem m_allgather;
  const Problem* m_broadcast = nullptr;
  std::uint64_t m_seed;
  const Progress& m_progress;
  std::optional<TwoLevel> m_levels;
  std::unique_ptr<Search> m_scatter;
  std::map<std::pair<int, std::int64_t>, std::optional<Steps>> m_known;  ///< scatters by steps and parts
};

}  // namespace coppice::synth
