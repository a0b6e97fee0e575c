// SPDX-License-Identifier: Apache-2.0
#include "training/costs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/failure.hpp"
#include "base/text.hpp"

namespace coppice::training {
namespace {

using std::int64_t;

int64_t scaled(const Rational& value, int64_t denominator) {
  return checkedMul(value.numerator(), denominator / value.denominator());
}

class CostMaker {
public:
  CostMaker(const Problem& problem, const Progress& progress) : m_problem(problem), m_progress(progress) {}

  Costs run() {
    makeVariables();
    makeEdges();
    makeCosts();
    m_costs.strategies = std::make_shared<const std::vector<std::vector<Strategy>>>(std::move(m_strategies));
    return std::move(m_costs);
  }

private:
  static constexpr int kNoWay = -1;
  static constexpr int kUnknown = -2;
  struct EdgeTimes {
    std::vector<std::vector<int>> kinds;          ///< as Edge::time
    std::vector<std::optional<Rational>> ofKind;  ///< where it has any
  };

  void makeVariables() {
    m_costs.variables.resize(m_problem.nodes.size());
    for (std::size_t i = 0; i < m_costs.variables.size(); ++i) {
      Variable& variable = m_costs.variables[i];
      m_strategies.push_back(strategiesOf(m_problem, static_cast<int>(i)));
      if (m_strategies.back().empty()) {
        throw Failure{{ErrorCode::infeasible,
                       "node " + inQuotes(m_problem.nodes[i].name) + " has no state that its sizes and `fixed` allow",
                       "change `fixed`, or the sizes of the mesh"}};
      }
      variable.alive.resize(m_strategies.back().size());
      for (const Strategy& strategy : m_strategies.back()) {
        variable.isDropped.push_back(strategy.isDropped);
      }
      std::iota(variable.alive.begin(), variable.alive.end(), 0);
    }
  }

  void makeEdges() {
    m_costs.edgesOf.resize(m_costs.variables.size());
    std::vector<std::vector<int>> made(m_costs.variables.size());
    for (std::size_t i = 0; i < m_costs.variables.size(); ++i) {
      m_costs.variables[i].takes.resize(m_strategies[i].size());
      for (const Strategy& strategy : m_strategies[i]) {
        m_costs.variables[i].output.push_back(placeOf(numberOf(strategy.output), made[i]));
      }
    }
    for (std::size_t i = 0; i < m_costs.variables.size(); ++i) {
      const Node& node = m_problem.nodes[i];
      for (std::size_t input = 0; input < node.inputs.size(); ++input) {
        throwIfCancelled(m_progress);
        const int producer = node.inputs[input];
        std::vector<int> taken;
        for (std::size_t s = 0; s < m_strategies[i].size(); ++s) {
          m_costs.variables[i].takes[s].push_back(placeOf(numberOf(m_strategies[i][s].inputs[input]), taken));
        }
        const bool isKept = node.op == Op::update && input == 1;
        const Node& source = m_problem.nodes[producer];
        EdgeTimes& times = m_edgeTimes.emplace_back();
        for (const int from : made[static_cast<std::size_t>(producer)]) {
          std::vector<int>& row = times.kinds.emplace_back();
          for (const int to : taken) {
            row.push_back(isKept && from != to ? kNoWay : kindOf(from, to));
          }
        }
        times.ofKind.resize(m_timesOfByte.size());
        const Rational bytes = elementsOf(m_problem, source.dims) * source.bytes * node.times;
        for (const std::vector<int>& row : times.kinds) {
          for (const int kind : row) {
            if (kind != kNoWay && !times.ofKind[kind]) {
              times.ofKind[kind] = m_timesOfByte[kind] * bytes;
              m_costs.timeUnit = leastCommonMultiple(m_costs.timeUnit, times.ofKind[kind]->denominator());
            }
          }
        }
        m_costs.edgesOf[static_cast<std::size_t>(producer)].push_back(static_cast<int>(m_costs.edges.size()));
        m_costs.edgesOf[i].push_back(static_cast<int>(m_costs.edges.size()));
        m_costs.edges.push_back({producer, static_cast<int>(i), static_cast<int>(input), {}});
      }
    }
  }

  [[nodiscard]] int numberOf(const State& state) {
    const auto [found, isNew] = m_numbers.try_emplace(state, static_cast<int>(m_states.size()));
    if (isNew) {
      m_states.push_back(&found->first);
      m_kinds.emplace_back();
    }
    return found->second;
  }

  /// Where a state stands among some, to which it is added if it is not there.
  static int placeOf(int state, std::vector<int>& among) {
    const auto found = std::find(among.begin(), among.end(), state);
    const auto place = static_cast<int>(found - among.begin());
    if (found == among.end()) {
      among.push_back(state);
    }
    return place;
  }

  /// Many tensors have the same dimensions, and many conversions the same time for a byte: its place in m_timesOfByte.
  [[nodiscard]] int kindOf(int from, int to) {
    std::vector<int>& kinds = m_kinds[from];
    if (to >= static_cast<int>(kinds.size())) {
      kinds.resize(m_states.size(), kUnknown);
    }
    if (kinds[to] == kUnknown) {
      const auto time = conversionTimeOfByte(m_problem, *m_states[from], *m_states[to]);
      kinds[to] = kNoWay;
      if (time) {
        const auto [found, isNew] = m_kindOfTime.try_emplace(*time, static_cast<int>(m_timesOfByte.size()));
        if (isNew) {
          m_timesOfByte.push_back(*time);
        }
        kinds[to] = found->second;
      }
    }
    return kinds[to];
  }

  /// Of operations and conversions, in whole numbers of common units.
  void makeCosts() {
    std::vector<std::vector<Cost>> costs(m_costs.variables.size());
    for (std::size_t i = 0; i < m_costs.variables.size(); ++i) {
      for (const Strategy& strategy : m_strategies[i]) {
        costs[i].push_back(ownCost(m_problem, static_cast<int>(i), strategy));
        m_costs.computeUnit = leastCommonMultiple(m_costs.computeUnit, costs[i].back().compute.denominator());
        m_costs.timeUnit = leastCommonMultiple(m_costs.timeUnit, costs[i].back().communication.denominator());
        m_costs.memoryUnit = leastCommonMultiple(m_costs.memoryUnit, costs[i].back().memory.denominator());
      }
    }
    for (std::size_t e = 0; e < m_costs.edges.size(); ++e) {
      const EdgeTimes& times = m_edgeTimes[e];
      std::vector<int64_t> whole;
      for (const auto& time : times.ofKind) {
        whole.push_back(time ? scaled(*time, m_costs.timeUnit) : kNever);
        if (time && whole.back() > kNever / 1024) {
          throw OverflowError("times of conversions leave the exact integer range");
        }
      }
      for (const std::vector<int>& kinds : times.kinds) {
        std::vector<int64_t>& row = m_costs.edges[e].time.emplace_back();
        for (const int kind : kinds) {
          row.push_back(kind == kNoWay ? kNever : whole[kind]);
        }
      }
    }
    for (std::size_t i = 0; i < m_costs.variables.size(); ++i) {
      for (const Cost& cost : costs[i]) {
        const Point point{scaled(cost.compute, m_costs.computeUnit), scaled(cost.communication, m_costs.timeUnit),
                          scaled(cost.memory, m_costs.memoryUnit)};
        if (std::max({point.compute, point.communication, point.memory}) > kNever / 1024) {
          throw OverflowError("times and bytes of operations leave the exact integer range");
        }
        m_costs.variables[i].own.push_back(point);
      }
    }
  }

  const Problem& m_problem;
  const Progress& m_progress;
  Costs m_costs;
  std::map<State, int> m_numbers;
  std::vector<const State*> m_states;     ///< by number
  std::vector<std::vector<int>> m_kinds;  ///< by number of a state, then of another
  std::map<Rational, int> m_kindOfTime;
  std::vector<Rational> m_timesOfByte;  ///< by kind
  std::vector<std::vector<Strategy>> m_strategies;
  std::vector<EdgeTimes> m_edgeTimes;
};

/// Leaves out strategies that another is as good as; true where it did.
bool thinOut(Costs& costs, int index) {
  Variable& variable = costs.variables[index];
  std::vector<Difference> differences;
  for (const int edge : costs.edgesOf[index]) {
    differences.emplace_back(costs, index, edge);
  }
  std::vector<int> kept = variable.alive;
  const std::size_t before = kept.size();
  for (const int a : variable.alive) {
    const bool isReplaced = std::any_of(kept.begin(), kept.end(), [&](int b) {
      if (a == b || variable.own[b].compute > variable.own[a].compute ||
          variable.own[b].memory > variable.own[a].memory) {
        return false;
      }
      int64_t more = variable.own[b].communication - variable.own[a].communication;
      for (Difference& difference : differences) {
        const auto each = difference(a, b);
        if (!each) {
          return true;  // a goes with nothing
        }
        if (*each == kNever) {
          return false;
        }
        more += *each;
      }
      return more <= 0;
    });
    if (isReplaced) {
      kept.erase(std::find(kept.begin(), kept.end(), a));
    }
  }
  variable.alive = std::move(kept);
  return variable.alive.size() < before;
}

}  // namespace

Costs costsOf(const Problem& problem, const Progress& progress) {
  return CostMaker(problem, progress).run();
}

Weights weightsOf(const Costs& costs, const Prices& prices) {
  // Whole multipliers of whole costs: what they stand for is a little off the prices, and exact for the answer.
  constexpr double kLargest = 1 << 30;
  constexpr int kBits = 48;
  const double compute = prices.compute / static_cast<double>(costs.computeUnit);
  const double communication = prices.communication / static_cast<double>(costs.timeUnit);
  const double memory = prices.memory / static_cast<double>(costs.memoryUnit);
  const double scale = kLargest / std::max({compute, communication, memory});
  Weights weights{std::llround(compute * scale), std::llround(communication * scale), std::llround(memory * scale), 0};
  Int128 most = 0;
  for (const Variable& variable : costs.variables) {
    Int128 largest = 0;
    for (const Point& own : variable.own) {
      largest = std::max(largest, weights.sum(own));
    }
    most += largest;
  }
  for (const Edge& edge : costs.edges) {
    std::int64_t largest = 0;
    for (const std::vector<std::int64_t>& row : edge.time) {
      for (const std::int64_t time : row) {
        largest = time == kNever ? largest : std::max(largest, time);
      }
    }
    most += 2 * weights.sum({0, largest, 0});
  }
  while ((most >> weights.shift) >> kBits > 0) {
    ++weights.shift;
  }
  return weights;
}

Cost Costs::exact(const Point& point) const {
  return {Rational(point.compute, computeUnit), Rational(point.communication, timeUnit),
          Rational(point.memory, memoryUnit)};
}

bool Costs::isPossible(const std::vector<int>& choice) const {
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (timeOf(static_cast<int>(e), choice[edges[e].producer], choice[edges[e].consumer]) == kNever) {
      return false;
    }
  }
  return true;
}

Point Costs::sum(const std::vector<int>& choice) const {
  Point sum;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    sum = sum + variables[i].own[choice[i]];
  }
  for (std::size_t e = 0; e < edges.size(); ++e) {
    sum = sum + Point{0, timeOf(static_cast<int>(e), choice[edges[e].producer], choice[edges[e].consumer]), 0};
  }
  return sum;
}

Costs Costs::weighted(const Weights& weights) const {
  const auto number = [&](const Point& point) {
    const Int128 value = weights.sum(point) >> weights.shift;
    if (value > kNever / 1024) {
      throw OverflowError("weighted costs leave the exact integer range");
    }
    return static_cast<int64_t>(value);
  };
  Costs costs = *this;
  for (Variable& variable : costs.variables) {
    for (Point& own : variable.own) {
      own = {0, number(own), 0};
    }
  }
  for (Edge& edge : costs.edges) {
    for (std::vector<int64_t>& row : edge.time) {
      for (int64_t& time : row) {
        time = time == kNever ? kNever : number({0, time, 0});
      }
    }
  }
  return costs;
}

Difference::Difference(const Costs& costs, int variable, int edge)
    : m_isProducer(costs.edges[edge].producer == variable) {
  const Edge& at = costs.edges[edge];
  const Variable& own = costs.variables[variable];
  const Variable& other = costs.variables[m_isProducer ? at.consumer : at.producer];
  const int input = at.input;
  std::map<std::pair<int, bool>, int> keys;
  for (std::size_t s = 0; s < own.output.size(); ++s) {
    const std::pair<int, bool> key = m_isProducer ? std::pair(own.output[s], false)
                                                  : std::pair(own.takes[s][input], static_cast<bool>(own.isDropped[s]));
    m_keyOf.push_back(keys.try_emplace(key, static_cast<int>(keys.size())).first->second);
  }
  std::set<std::pair<int, bool>> others;
  for (const int s : other.alive) {
    others.insert(m_isProducer ? std::pair(other.takes[s][input], static_cast<bool>(other.isDropped[s]))
                               : std::pair(other.output[s], false));
  }
  m_times.resize(keys.size());
  for (const auto& [key, number] : keys) {
    for (const auto& [state, isDropped] : others) {
      const int64_t time = m_isProducer ? at.time[key.first][state] : at.time[state][key.first];
      m_times[number].push_back(time != kNever && (isDropped || key.second) ? 2 * time : time);
    }
  }
  m_known.assign(keys.size() * keys.size(), kUnknown);
}

std::optional<int64_t> Difference::operator()(int a, int b) {
  int64_t& known = m_known[static_cast<std::size_t>(m_keyOf[a]) * m_times.size() + m_keyOf[b]];
  if (known == kUnknown) {
    const std::vector<int64_t>& from = m_times[m_keyOf[a]];
    const std::vector<int64_t>& to = m_times[m_keyOf[b]];
    known = kNone;
    for (std::size_t i = 0; i < from.size() && known != kNever; ++i) {
      if (from[i] != kNever) {
        known = to[i] == kNever ? kNever : std::max(known, to[i] - from[i]);
      }
    }
  }
  return known == kNone ? std::nullopt : std::optional(known);
}

void dropDeadEnds(Costs& costs, const Progress& progress) {
  std::vector<bool> isDue(costs.variables.size(), true);
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (std::size_t i = 0; i < costs.variables.size(); ++i) {
      throwIfCancelled(progress);
      if (!isDue[i]) {
        continue;
      }
      isDue[i] = false;
      if (thinOut(costs, static_cast<int>(i))) {
        isChanged = true;
        for (const int edge : costs.edgesOf[i]) {
          isDue[costs.edges[edge].producer] = true;
          isDue[costs.edges[edge].consumer] = true;
        }
      }
    }
  }
}

}  // namespace coppice::training
