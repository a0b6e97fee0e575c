// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/progress.hpp"
#include "synth/boxes.hpp"
#include "synth/problem.hpp"
#include "synth/search.hpp"
#include "synth/two_level.hpp"

namespace coppice::synth {

/// broadcast on n equal boxes: the root scatters as many chunks as there are ranks, or a multiple, by maximum flow;
/// then an allgather of two levels. Takes more chunks than pull, and fewer rounds for each.
class ScatterGather final : public Composer {
public:
  /// nullptr where the problem is not a broadcast, or two levels do not apply. Throws CancelledError.
  static std::unique_ptr<ScatterGather> make(const Problem& broadcast, const Boxes& boxes, double seconds,
                                             std::uint64_t seed, const Progress& progress);

  /// The chunks of the root in equal parts, one for each rank.
  [[nodiscard]] std::int64_t unit() const override { return m_allgather.topology.nodes; }
  [[nodiscard]] std::int64_t maxChunks() const override;
  std::optional<std::int64_t> rounds(int steps, std::int64_t n) override;
  std::optional<Steps> schedule(int steps, std::int64_t n) override;
  [[nodiscard]] std::string how() const override;

private:
  struct Choice {
    int scatterSteps = 0;
    std::int64_t rounds = 0;
  };
  explicit ScatterGather(Problem allgather) : m_allgather(std::move(allgather)) {}
  const Steps* scatter(int steps, std::int64_t parts);
  std::optional<Choice> choose(int steps, std::int64_t parts);

  Problem m_allgather;
  const Problem* m_broadcast = nullptr;
  int m_boxes = 0;
  std::unique_ptr<TwoLevel> m_levels;
  std::unique_ptr<Search> m_scatter;
  std::map<std::pair<int, std::int64_t>, std::optional<Steps>> m_known;  ///< scatters by steps and parts
};

}  // namespace coppice::synth
