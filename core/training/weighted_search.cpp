// SPDX-License-Identifier: Apache-2.0
#include "training/weighted_search.hpp"

#include <cmath>

#include "base/failure.hpp"
#include "training/dual_bound.hpp"

namespace coppice::training {
namespace {

constexpr std::size_t kMaxWeightedWork = 200'000'000;

}  // namespace

WeightedSearch::WeightedSearch(const Problem& problem, const Progress& progress)
    : m_progress(progress),
      m_costs(costsOf(problem, progress)),
      m_budget{.maxPoints = 5'000'000, .maxWork = kMaxWeightedWork} {}

WeightedSearch::Answer WeightedSearch::answerOf(const Weights& weights) const {
  Answer answer;
  answer.compute = static_cast<double>(weights.compute) * static_cast<double>(m_costs.computeUnit);
  answer.communication = static_cast<double>(weights.communication) * static_cast<double>(m_costs.timeUnit);
  answer.memory = static_cast<double>(weights.memory) * static_cast<double>(m_costs.memoryUnit);
  return answer;
}

Plan WeightedSearch::planOf(const std::vector<int>& choice) const {
  Plan plan{m_costs.exact(m_costs.sum(choice)), {}};
  for (std::size_t i = 0; i < choice.size(); ++i) {
    plan.strategies.push_back((*m_costs.strategies)[i][choice[i]]);
  }
  return plan;
}

WeightedSearch::Answer WeightedSearch::bound(const Prices& prices) const {
  const Weights weights = weightsOf(m_costs, prices);
  Answer answer = answerOf(weights);
  try {
    DualBound bound(m_costs, weights);
    constexpr int kRounds = 6;
    constexpr int kPasses = 4;
    constexpr std::int64_t kNear = 1'000'000;
    for (int round = 0; round < kRounds && !answer.plan; ++round) {
      throwIfCancelled(m_progress);
      bound.improve(kPasses);
      const std::vector<int> choice = bound.suggested();
      if (m_costs.isPossible(choice) && weights.sum(m_costs.sum(choice)) >> weights.shift <=
                                            static_cast<Int128>(bound.least()) + bound.least() / kNear) {
        answer.plan = planOf(choice);
      }
    }
    answer.least = std::ldexp(static_cast<double>(bound.least()), weights.shift);
  } catch (const OverflowError&) {
    // Impossible conversions add up: nothing is known, and best() has no such sums.
  }
  return answer;
}

WeightedSearch::Answer WeightedSearch::best(const Prices& prices) {
  if (!m_isThin) {
    dropDeadEnds(m_costs, m_progress);
    m_isThin = true;
  }
  const Weights weights = weightsOf(m_costs, prices);
  Costs weighted = m_costs.weighted(weights);
  dropDeadEnds(weighted, m_progress);
  const std::vector<Found> found = eliminate(weighted, m_budget, m_progress);
  const Found& best = found.front();
  Answer answer = answerOf(weights);
  answer.plan = planOf(best.strategies);
  answer.least = std::ldexp(static_cast<double>(best.cost.communication), weights.shift);
  return answer;
}

}  // namespace coppice::training
