// SPDX-License-Identifier: Apache-2.0
#include "training/weighted_search.hpp"

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
  const Weights weights = weightsOf(m_costs, prices);
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
