// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "base/progress.hpp"
#include "training/fronts.hpp"
#include "training/strategies.hpp"

namespace coppice::training {

/// What is not possible.
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 8;

/// An input of a node. Rows are the states that its producer makes, columns those that its consumer takes.
struct Edge {
  int producer = 0;
  int consumer = 0;
  int input = 0;                                ///< which one of the consumer
  std::vector<std::vector<std::int64_t>> time;  ///< kNever = not possible
};

struct Variable {
  std::vector<Point> own;               ///< by strategy
  std::vector<int> output;              ///< by strategy: its state among those that the node makes
  std::vector<std::vector<int>> takes;  ///< by strategy, by input: the column of its edge
  std::vector<bool> isDropped;          ///< by strategy
  std::vector<int> alive;               ///< strategies that are left
};

/// Multipliers of what a point counts, to make one number of it: (compute * a + communication * b + memory * c) /
/// 2^shift, rounded down for each operation and each conversion.
struct Weights {
  std::int64_t compute = 0;
  std::int64_t communication = 0;
  std::int64_t memory = 0;
  int shift = 0;

  /// Of a point, not yet divided by 2^shift.
  [[nodiscard]] Int128 sum(const Point& point) const {
    return static_cast<Int128>(point.compute) * compute + static_cast<Int128>(point.communication) * communication +
           static_cast<Int128>(point.memory) * memory;
  }
};

/// What a ns of compute, one of communication, and a byte count; only their ratios matter.
struct Prices {
  double compute = 1;
  double communication = 1;
  double memory = 0;
};

/// Strategies of all nodes with what they and the conversions between them cost, in whole numbers of common units.
struct Costs {
  std::vector<Variable> variables;
  std::vector<Edge> edges;
  std::vector<std::vector<int>> edgesOf;                                 ///< by variable
  std::shared_ptr<const std::vector<std::vector<Strategy>>> strategies;  ///< by variable
  std::int64_t computeUnit = 1;                                          ///< parts of a ns
  std::int64_t timeUnit = 1;                                             ///< parts of a ns, of conversions
  std::int64_t memoryUnit = 1;

  [[nodiscard]] std::int64_t timeOf(int edge, int producerStrategy, int consumerStrategy) const {
    const Edge& at = edges[edge];
    const Variable& consumer = variables[at.consumer];
    const std::int64_t time =
        at.time[variables[at.producer].output[producerStrategy]][consumer.takes[consumerStrategy][at.input]];
    return time == kNever || !consumer.isDropped[consumerStrategy] ? time : 2 * time;
  }
  [[nodiscard]] Cost exact(const Point& point) const;
  /// Whether each conversion of a choice of a strategy for each variable is possible.
  [[nodiscard]] bool isPossible(const std::vector<int>& choice) const;
  /// What a strategy for each variable costs.
  [[nodiscard]] Point sum(const std::vector<int>& choice) const;
  /// The same with Point::communication the weighted number of all three, and nothing else. Throws OverflowError.
  [[nodiscard]] Costs weighted(const Weights& weights) const;
};

/// Whole multipliers for the prices, with which sums over the graph are small enough to add up.
[[nodiscard]] Weights weightsOf(const Costs& costs, const Prices& prices);

/// Throws Failure (infeasible: a node without a strategy), OverflowError, CancelledError.
[[nodiscard]] Costs costsOf(const Problem& problem, const Progress& progress);

/// How much more (less, where negative) an edge costs at most with b for a, over all strategies of the other end that
/// a can go with.
class Difference {
public:
  Difference(const Costs& costs, int variable, int edge);
  /// kNever: b cannot go with one of them. Nothing: a can go with none.
  [[nodiscard]] std::optional<std::int64_t> operator()(int a, int b);

private:
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kNone = kUnknown + 1;
  bool m_isProducer;
  std::vector<int> m_keyOf;
  std::vector<std::vector<std::int64_t>> m_times;  ///< by own key, by key of the other end
  std::vector<std::int64_t> m_known;
};

/// Leaves out strategies that another replaces at no cost whatever the others do (Goldstein, Biophys. J. 66 (1994)).
void dropDeadEnds(Costs& costs, const Progress& progress);

}  // namespace coppice::training
