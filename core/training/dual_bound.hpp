// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "training/costs.hpp"

namespace coppice::training {

/// A lower bound of the weighted cost of all plans, by moving costs between operations and conversions: what the
/// cheapest strategy of each operation and the cheapest conversion of each edge cost then add up to a bound that is
/// mostly tight. Sequential message passing with weights (SRMP: Kolmogorov, IEEE PAMI 37 (2015)), in whole numbers,
/// so that the bound holds exactly however far it is improved.
class DualBound {
public:
  /// Of the strategies that are alive. `costs` must outlive this. Throws OverflowError.
  DualBound(const Costs& costs, const Weights& weights);

  /// Passes over the graph, there and back. Throws OverflowError.
  void improve(int passes);

  /// At most the weighted cost of any plan: rounded down for each operation and each conversion.
  [[nodiscard]] std::int64_t least() const { return m_least; }
  /// The strategies of a plan that the bound suggests; some conversion of it may be impossible.
  [[nodiscard]] std::vector<int> suggested() const;

private:
  /// Strategies of an end that are the same to the edge have one key.
  struct End {
    int variable = 0;
    std::vector<int> keyOf;           ///< by strategy
    std::vector<std::int64_t> moved;  ///< by key: from the edge to this end
  };
  struct Link {
    End producer;
    End consumer;
    std::vector<std::int64_t> time;  ///< by key of the producer, then of the consumer: weighted
  };
  [[nodiscard]] static End endOf(const Costs& costs, int edge, bool isProducer, std::vector<int>& examples);
  void pull(Link& link, bool isProducer);
  void push(Link& link, bool isProducer, int share);
  void pass(bool isForward);
  void total();

  const Costs& m_costs;
  std::vector<Link> m_links;
  std::vector<std::vector<int>> m_linksOf;       ///< by variable
  std::vector<std::vector<std::int64_t>> m_own;  ///< by variable, by strategy
  std::int64_t m_least = 0;
  std::vector<std::int64_t> m_scratch;
};

}  // namespace coppice::training
