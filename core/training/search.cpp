// SPDX-License-Identifier: Apache-2.0
#include "training/search.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/failure.hpp"
#include "training/dual_bound.hpp"
#include "training/elimination.hpp"

namespace coppice::training {
namespace {

class Search {
public:
  Search(const Problem& problem, const SearchOptions& options, const Progress& progress)
      : m_problem(problem),
        m_progress(progress),
        m_costs(costsOf(problem, progress)),
        m_budget{.maxPoints = options.maxPoints, .maxWork = options.maxWork} {}

  Front run() {
    Front found;
    try {
      solve([](int, const Strategy&) { return true; });
    } catch (const OutOfWork&) {
      found.isPartial = true;
      suggest();
      found.leastStep = m_leastStep;
      axisByAxis();
    }
    // Of all that was found what nothing else is as good as.
    std::sort(m_found.begin(), m_found.end());
    FrontBuilder front;
    for (const Found& each : m_found) {
      front.add({&each.cost, 1});
    }
    front.finish(0);
    for (const Point& cost : front.points()) {
      const Found& of = *std::lower_bound(m_found.begin(), m_found.end(), Found{cost, {}});
      Plan plan{m_costs.exact(cost), {}};
      for (std::size_t i = 0; i < of.strategies.size(); ++i) {
        plan.strategies.push_back((*m_costs.strategies)[i][of.strategies[i]]);
      }
      found.plans.push_back(std::move(plan));
    }
    found.isThinned = m_budget.thinning > 0;
    return found;
  }

private:
  /// Adds the front of the plans of allowed strategies to what is found. Throws OutOfWork, Failure (infeasible).
  template <typename IsAllowed>
  void solve(const IsAllowed& isAllowed) {
    for (std::size_t i = 0; i < m_costs.variables.size(); ++i) {
      std::vector<int>& alive = m_costs.variables[i].alive;
      alive.clear();
      for (std::size_t s = 0; s < (*m_costs.strategies)[i].size(); ++s) {
        if (isAllowed(static_cast<int>(i), (*m_costs.strategies)[i][s])) {
          alive.push_back(static_cast<int>(s));
        }
      }
      if (alive.empty()) {
        throw Failure{{ErrorCode::infeasible, "no states of the tensors fit together",
                       "change `fixed`, or the sizes of the mesh"}};
      }
    }
    dropDeadEnds(m_costs, m_progress);
    std::vector<Found> found = eliminate(m_costs, m_budget, m_progress);
    m_found.insert(m_found.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }

  /// Adds plans that bounds of weighted costs suggest, and finds what no step is below: with a C + b K >= V for all
  /// plans, max(C, K) >= V / (a + b). Weights that balance C and K show most.
  void suggest() {
    m_leastStep = Rational();
    const double memory = leastTimeByMemory();
    suggestAt({1, 0, 0});
    suggestAt({0, 1, 0});
    double low = -8;  // powers of two of the price of communication
    double high = 8;
    constexpr int kSteps = 7;
    for (int step = 0; step < kSteps; ++step) {
      m_progress.report("training", static_cast<double>(step) / kSteps);
      const double middle = (low + high) / 2;
      const Cost cost = m_costs.exact(suggestAt({1, std::exp2(middle), 0}));
      (cost.compute < cost.communication ? low : high) = middle;
    }
    const double communication = std::exp2(high);
    for (const double part : {0.125, 1.0, 8.0}) {
      suggestAt({1, communication, part * memory});
    }
  }

  /// What the plan at these prices costs, if it is possible.
  Point suggestAt(const Prices& prices) {
    throwIfCancelled(m_progress);
    constexpr int kPasses = 12;
    const Weights weights = weightsOf(m_costs, prices);
    DualBound bound(m_costs, weights);
    bound.improve(kPasses);
    if (weights.memory == 0) {
      constexpr std::int64_t kParts = 1000;  // of a ns, rounded down
      const Int128 units = static_cast<Int128>(weights.compute) * m_costs.computeUnit +
                           static_cast<Int128>(weights.communication) * m_costs.timeUnit;
      const Int128 value = checkedMul<Int128>(static_cast<Int128>(std::max<std::int64_t>(bound.least(), 0)),
                                              checkedMul<Int128>(Int128{1} << weights.shift, kParts));
      m_leastStep = std::max(*m_leastStep, Rational(narrow64(value / units), kParts));
    }
    Found found{{}, bound.suggested()};
    if (!m_costs.isPossible(found.strategies)) {
      return {};
    }
    found.cost = m_costs.sum(found.strategies);
    m_found.push_back(found);
    return found.cost;
  }

  /// Too large to search all axes together: one axis after the other is searched exactly while the others keep what
  /// they do in a plan that was found, from several plans.
  void axisByAxis() {
    const int axes = static_cast<int>(m_problem.mesh.size());
    m_budget.mayGiveUp = false;
    const auto& strategies = *m_costs.strategies;
    const auto isAlike = [](const Strategy& a, const Strategy& b, int axis) {
      for (std::size_t input = 0; input < a.inputs.size(); ++input) {
        if (a.inputs[input][axis] != b.inputs[input][axis]) {
          return false;
        }
      }
      return a.output[axis] == b.output[axis];
    };
    // At first the other axes do nothing, but for what is fixed.
    for (int free = axes - 1; free >= 0; --free) {
      solve([&](int node, const Strategy& strategy) {
        for (int axis = 0; axis < axes; ++axis) {
          const bool isFixed = m_problem.nodes[node].fixed && (*m_problem.nodes[node].fixed)[axis] != kReplicated;
          const bool isIdle = strategy.output[axis] == kReplicated &&
                              std::all_of(strategy.inputs.begin(), strategy.inputs.end(),
                                          [&](const State& state) { return state[axis] == kReplicated; });
          if (axis != free && !isFixed && !isIdle) {
            return false;
          }
        }
        return true;
      });
    }
    constexpr int kRounds = 2;
    const double memory = leastTimeByMemory();
    std::set<std::pair<std::vector<int>, int>> tried;
    for (const double weight : {0.0, memory, 8 * memory}) {
      for (int step = 0; step < kRounds * axes; ++step) {
        const int free = axes - 1 - step % axes;
        const Found best = *std::min_element(m_found.begin(), m_found.end(), [&](const Found& a, const Found& b) {
          return worth(a.cost, weight) < worth(b.cost, weight);
        });
        if (!tried.emplace(best.strategies, free).second) {
          continue;
        }
        solve([&](int node, const Strategy& strategy) {
          const Strategy& present = strategies[node][best.strategies[node]];
          for (int axis = 0; axis < axes; ++axis) {
            if (axis != free && !isAlike(strategy, present, axis)) {
              return false;
            }
          }
          return true;
        });
      }
    }
  }

  /// What a plan takes, in ns; bytes count as `weight` ns each. Only to choose where the search goes on.
  [[nodiscard]] double worth(const Point& cost, double weight) const {
    return static_cast<double>(cost.compute) / static_cast<double>(m_costs.computeUnit) +
           static_cast<double>(cost.communication) / static_cast<double>(m_costs.timeUnit) +
           weight * static_cast<double>(cost.memory) / static_cast<double>(m_costs.memoryUnit);
  }

  /// Of the cheapest strategies that are left.
  [[nodiscard]] double leastTimeByMemory() const {
    double time = 0;
    double memory = 0;
    for (const Variable& variable : m_costs.variables) {
      std::int64_t compute = kNever;
      std::int64_t bytes = kNever;
      for (const int s : variable.alive) {
        compute = std::min(compute, variable.own[s].compute);
        bytes = std::min(bytes, variable.own[s].memory);
      }
      time += static_cast<double>(compute) / static_cast<double>(m_costs.computeUnit);
      memory += static_cast<double>(bytes) / static_cast<double>(m_costs.memoryUnit);
    }
    return time / std::max(memory, 1.0);
  }

  const Problem& m_problem;
  const Progress& m_progress;
  Costs m_costs;
  Budget m_budget;
  std::vector<Found> m_found;
  std::optional<Rational> m_leastStep;
};

}  // namespace

Result<Front> findFront(const Problem& problem, const SearchOptions& options, const Progress& progress) {
  if (auto fault = faultOf(problem)) {
    return *std::move(fault);
  }
  return guarded([&] { return Search(problem, options, progress).run(); });
}

std::optional<Cost> costOf(const Problem& problem, const std::vector<Strategy>& strategies) {
  Cost sum;
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    const Node& node = problem.nodes[i];
    const Cost own = ownCost(problem, static_cast<int>(i), strategies[i]);
    sum.compute += own.compute;
    sum.communication += own.communication;
    sum.memory += own.memory;
    for (std::size_t input = 0; input < node.inputs.size(); ++input) {
      const State& from = strategies[node.inputs[input]].output;
      const State& to = strategies[i].inputs[input];
      if (node.op == Op::update && input == 1) {
        if (from != to) {
          return std::nullopt;
        }
        continue;
      }
      const auto time = conversionTime(problem, node.inputs[input], from, to);
      if (!time) {
        return std::nullopt;
      }
      sum.communication += *time * node.times * Rational(strategies[i].isDropped ? 2 : 1);
    }
  }
  return sum;
}

}  // namespace coppice::training
