// SPDX-License-Identifier: Apache-2.0
#include "training/weighted_search.hpp"

#include <algorithm>
#include <cmath>

#include "base/failure.hpp"

namespace coppice::training {
namespace {

constexpr std::size_t kMaxWeightedWork = 200'000'000;

}  // namespace

WeightedSearch::WeightedSearch(const Problem& problem, const Progress& progress)
    : m_progress(progress),
      m_costs(costsOf(problem, progress)),
      m_budget{.maxPoints = 5'000'000, .maxWork = kMaxWeightedWork} {}

WeightedSearch::Answer WeightedSearch::best(const Prices& prices) {
  // Whole multipliers of whole costs: what they stand for is a little off the prices, and exact for the answer.
  constexpr double kLargest = 1 << 30;
  constexpr int kBits = 48;
  const double compute = prices.compute / static_cast<double>(m_costs.computeUnit);
  const double communication = prices.communication / static_cast<double>(m_costs.timeUnit);
  const double memory = prices.memory / static_cast<double>(m_costs.memoryUnit);
  const double scale = kLargest / std::max({compute, communication, memory});
  Weights weights{std::llround(compute * scale), std::llround(communication * scale), std::llround(memory * scale), 0};
  Int128 most = 0;
  const auto value = [&](const Point& point) {
    return static_cast<Int128>(point.compute) * weights.compute +
           static_cast<Int128>(point.communication) * weights.communication +
           static_cast<Int128>(point.memory) * weights.memory;
  };
  for (const Variable& variable : m_costs.variables) {
    Int128 largest = 0;
    for (const Point& own : variable.own) {
      largest = std::max(largest, value(own));
    }
    most += largest;
  }
  for (const Edge& edge : m_costs.edges) {
    std::int64_t largest = 0;
    for (const std::vector<std::int64_t>& row : edge.time) {
      for (const std::int64_t time : row) {
        largest = time == kNever ? largest : std::max(largest, time);
      }
    }
    most += 2 * value({0, largest, 0});
  }
  while ((most >> weights.shift) >> kBits > 0) {
    ++weights.shift;
  }
  Costs weighted = m_costs.weighted(weights);
  dropDeadEnds(weighted, m_progress);
  const std::vector<Found> found = eliminate(weighted, m_budget, m_progress);
  const Found& best = found.front();
  Answer answer;
  answer.plan.cost = m_costs.exact(m_costs.sum(best.strategies));
  for (std::size_t i = 0; i < best.strategies.size(); ++i) {
    answer.plan.strategies.push_back((*m_costs.strategies)[i][best.strategies[i]]);
  }
  answer.compute = static_cast<double>(weights.compute) * static_cast<double>(m_costs.computeUnit);
  answer.communication = static_cast<double>(weights.communication) * static_cast<double>(m_costs.timeUnit);
  answer.memory = static_cast<double>(weights.memory) * static_cast<double>(m_costs.memoryUnit);
  answer.least = std::ldexp(static_cast<double>(best.cost.communication), weights.shift);
  return answer;
}

}  // namespace coppice::training
