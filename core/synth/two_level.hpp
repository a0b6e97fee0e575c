// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "synth/boxes.hpp"
#include "synth/problem.hpp"
#include "synth/search.hpp"

namespace coppice::synth {

/// allgather of n equal boxes from the box's own schedules and a step across boxes.
///
/// Ranks of the same place in all boxes exchange chunks directly, a batch in each of the first steps. What a batch
/// brings into a box is spread there in the steps after it, by the box's own allgather, while the next batch comes in.
/// The links between boxes are free in the last steps: then chunks go straight to every rank of a box, from the rank of
/// the same place in the box they come from. How much each batch holds is chosen by a local search on the exact rounds.
class TwoLevel final : public Composer {
public:
  /// nullptr where the problem is no allgather, where two boxes are not joined directly, or where the links within a
  /// box do not join it. Searches the schedules of a box for at most `seconds`. Throws CancelledError.
  /// The problem and `progress` must outlive it.
  static std::unique_ptr<TwoLevel> make(const Problem& problem, const Boxes& boxes, double seconds, std::uint64_t seed,
                                        const Progress& progress);

  [[nodiscard]] int minSteps() const { return m_patterns.front().steps + 1; }
  [[nodiscard]] std::int64_t unit() const override { return 1; }
  [[nodiscard]] std::int64_t maxChunks() const override { return std::numeric_limits<std::int64_t>::max(); }
  /// nullopt below minSteps().
  std::optional<std::int64_t> rounds(int steps, std::int64_t n) override;
  std::optional<Steps> schedule(int steps, std::int64_t n) override;
  [[nodiscard]] std::string how() const override;

private:
  /// The box's own allgather of up to `n` chunks per rank in one number of steps.
  struct Pattern {
    int steps = 0;
    std::vector<std::vector<Send>> sends;  ///< by chunks per rank less one; arcs of box 0; chunk = place * n + slot
  };
  using Loads = std::vector<std::int64_t>;  ///< by orbit of limits
  struct Batches {
    const Pattern* pattern = nullptr;
    std::vector<std::int64_t> parts;  ///< by step: foreign chunks per place
    std::vector<std::int64_t> rounds;
  };
  /// The foreign chunks of one place, in the order in which batches take them.
  struct Foreign {
    std::vector<int> box;               ///< that it comes from
    std::vector<std::int64_t> index;    ///< of the chunk in its class
    std::vector<std::vector<int>> arc;  ///< by place: from the same place of that box
    std::vector<Loads> before;          ///< all earlier ones together
  };
  class Planner;

  TwoLevel(const Problem& problem, const Boxes& boxes, const Progress& progress)
      : m_problem(&problem), m_boxes(boxes), m_progress(progress) {}
  bool findShifts();
  bool findArcs();
  bool findPatterns(double seconds, std::uint64_t seed);
  [[nodiscard]] Foreign foreignOf(std::int64_t n) const;
  void add(const std::vector<int>& arcs, std::int64_t times, Loads& loads) const;
  [[nodiscard]] std::optional<Batches> batches(int steps, std::int64_t n, const Foreign& foreign) const;
  [[nodiscard]] bool isInner(int arc) const;
  [[nodiscard]] const Rational& rate(std::size_t orbit) const {
    return m_problem->topology.limits[m_min[orbit]].perRound;
  }

  const Problem* m_problem;
  Boxes m_boxes;
  const Progress& m_progress;
  std::vector<Symmetry> m_shifts;                       ///< one to each box
  std::vector<int> m_orbitOf;                           ///< by limit
  std::vector<int> m_min;                               ///< by orbit: its first limit
  std::vector<std::int64_t> m_weight;                   ///< by orbit: what one send and its images put on each limit
  std::vector<int> m_classOf;                           ///< by rank
  std::vector<std::vector<std::vector<int>>> m_across;  ///< by box and place: arcs into box 0, the place kept
  std::vector<Pattern> m_patterns;                      ///< by ascending steps
};

}  // namespace coppice::synth
