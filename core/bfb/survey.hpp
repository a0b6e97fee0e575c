// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "bfb/bfb.hpp"
#include "bfb/levels.hpp"

namespace coppice::bfb {

/// What a target gets in one step.
struct Arrivals {
  int step = 0;  ///< t, from 1
  StepProblem problem;
  std::vector<int> owners;             ///< the nodes whose shards arrive
  std::vector<std::uint32_t> classOf;  ///< by owner
};

/// Lists what each target gets: the shards of all nodes, or that of one root.
class Deliveries {
public:
  /// `digraph` must outlive this.
  Deliveries(const Digraph& digraph, std::optional<int> root);

  [[nodiscard]] const InLinks& in() const { return m_in; }
  /// By node, from the root; empty without a root.
  [[nodiscard]] std::span<const int> fromRoot() const { return m_fromRoot; }
  [[nodiscard]] std::optional<int> root() const { return m_root; }
  /// A node that the root does not reach, or -1.
  [[nodiscard]] int unreached() const { return m_unreached; }

private:
  InLinks m_in;
  std::optional<int> m_root;
  std::vector<int> m_fromRoot;
  int m_unreached = -1;
};

/// Reads the deliveries, target by target; one for each thread.
class DeliveryReader {
public:
  explicit DeliveryReader(const Deliveries& deliveries);

  /// False where a shard has no path to the target.
  bool find(int target);
  [[nodiscard]] int unreached() const { return m_levels.unreached(); }
  /// Steps in which the target gets something.
  [[nodiscard]] int count() const;
  /// The i-th of them. Valid until the next call. `wantsClasses`: owners and classOf too.
  const Arrivals& at(int i, bool wantsClasses);

private:
  void readRooted();

  const Deliveries& m_deliveries;
  Levels m_levels;
  int m_target = -1;
  Arrivals m_arrivals;
};

/// The problems of a range of targets.
struct SurveyBlock {
  struct Step {
    int step = 0;
    std::uint32_t problem = 0;  ///< into `problems`
  };
  int first = 0;
  int last = 0;
  Problems problems;
  std::vector<std::size_t> start;  ///< by target - first, into `steps`; one more at the end
  std::vector<Step> steps;
};

/// All problems of all targets.
struct Survey {
  std::vector<SurveyBlock> blocks;
  std::vector<Rational> stepLoads;  ///< U_t
  std::vector<TightSet> tight;
  std::vector<std::int64_t> pairs;  ///< deliveries by step
};

/// Errors: infeasible naming a pair without a path. Throws OverflowError, CancelledError.
Result<Survey> survey(const Deliveries& deliveries, int firstTarget, int lastTarget, const Progress& progress);

}  // namespace coppice::bfb
