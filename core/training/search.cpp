// SPDX-License-Identifier: Apache-2.0
#include "training/search.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <unordered_map>

#include "base/failure.hpp"
#include "base/text.hpp"
#include "training/fronts.hpp"

namespace coppice::training {
namespace {

using std::int64_t;

constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 8;
constexpr std::size_t kMaxPoints = 100'000'000;
constexpr double kThinning = 0.001;
constexpr double kMostEntries = 2e7;

/// An input of a node. Rows are the states that its producer makes, columns those that its consumer takes.
struct Edge {
  int producer = 0;
  int consumer = 0;
  std::vector<std::vector<int64_t>> time;  ///< kNever = not possible
};

struct Variable {
  std::vector<Strategy> strategies;
  std::vector<Point> own;               ///< by strategy
  std::vector<int> output;              ///< by strategy: its state among those that the node makes
  std::vector<std::vector<int>> takes;  ///< by strategy, by input: the column of its edge
  std::vector<int> alive;               ///< strategies that are left
};

/// What some operations and conversions cost together, by the values of some of their variables: the minimum over the
/// others, which are eliminated.
struct Table {
  std::vector<int> variables;
  std::vector<std::uint64_t> keys;  ///< by entry: the values, the first variable fastest
  std::vector<std::size_t> start;   ///< by entry, into the points; one more at the end
  std::vector<Point> points;        ///< the front of each entry
  std::set<int> factors;            ///< all that is in the sum: edges, then variables
  int eliminated = -1;              ///< the last variable
  std::vector<int> from = {};       ///< tables that were summed for it
  std::vector<int> added = {};      ///< factors that were summed for it besides

  [[nodiscard]] std::size_t size() const { return keys.size(); }
};

int64_t scaled(const Rational& value, int64_t denominator) {
  return checkedMul(value.numerator(), denominator / value.denominator());
}

class Search {
public:
  Search(const Problem& problem, const SearchOptions& options, const Progress& progress)
      : m_problem(problem), m_options(options), m_progress(progress) {}

  Front run() {
    makeVariables();
    makeEdges();
    scaleOwn();
    Front found;
    try {
      solve([](int, const Strategy&) { return true; });
    } catch (const OutOfWork&) {
      found.isPartial = true;
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
      Plan plan{{Rational(cost.compute, m_computeUnit), Rational(cost.communication, m_timeUnit),
                 Rational(cost.memory, m_memoryUnit)},
                {}};
      for (std::size_t i = 0; i < of.strategies.size(); ++i) {
        plan.strategies.push_back(m_variables[i].strategies[of.strategies[i]]);
      }
      found.plans.push_back(std::move(plan));
    }
    found.isThinned = m_thinning > 0;
    return found;
  }

private:
  /// A plan, by node the number of its strategy.
  struct Found {
    Point cost;
    std::vector<int> strategies;
    friend auto operator<=>(const Found&, const Found&) = default;
  };

  /// Adds the front of the plans of allowed strategies to what is found. Throws OutOfWork, Failure (infeasible).
  template <typename IsAllowed>
  void solve(const IsAllowed& isAllowed) {
    for (std::size_t i = 0; i < m_variables.size(); ++i) {
      Variable& variable = m_variables[i];
      variable.alive.clear();
      for (std::size_t s = 0; s < variable.strategies.size(); ++s) {
        if (isAllowed(static_cast<int>(i), variable.strategies[s])) {
          variable.alive.push_back(static_cast<int>(s));
        }
      }
      if (variable.alive.empty()) {
        throw Failure{{ErrorCode::infeasible, "no states of the tensors fit together",
                       "change `fixed`, or the sizes of the mesh"}};
      }
    }
    dropDominated();
    makeFactors();
    if (m_mayGiveUp && largestTable() > kMostEntries) {
      throw OutOfWork{};
    }
    eliminateAll();
    collect();
  }

  /// Entries of the largest table that the elimination would make, if none were left out.
  [[nodiscard]] double largestTable() const {
    std::vector<std::set<int>> next(m_variables.size());
    for (const Edge& edge : m_edges) {
      next[edge.producer].insert(edge.consumer);
      next[edge.consumer].insert(edge.producer);
    }
    std::set<int> left;
    for (std::size_t i = 0; i < m_variables.size(); ++i) {
      left.insert(static_cast<int>(i));
    }
    double largest = 0;
    while (!left.empty()) {
      const auto sizeAt = [&](int variable) {
        double size = 1;
        for (const int other : next[variable]) {
          size *= sizeOf(other);
        }
        return size;
      };
      const int best = *std::min_element(left.begin(), left.end(), [&](int a, int b) { return sizeAt(a) < sizeAt(b); });
      largest = std::max(largest, sizeAt(best));
      for (const int a : next[best]) {
        next[a].erase(best);
        for (const int b : next[best]) {
          if (a != b) {
            next[a].insert(b);
          }
        }
      }
      left.erase(best);
    }
    return largest;
  }

  /// Too large to search all axes together: one axis after the other is searched exactly while the others keep what
  /// they do in a plan that was found, from several plans.
  void axisByAxis() {
    const int axes = static_cast<int>(m_problem.mesh.size());
    m_mayGiveUp = false;
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
    const double memory = m_leastTime / m_leastMemory;
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
          const Strategy& present = m_variables[node].strategies[best.strategies[node]];
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
    return static_cast<double>(cost.compute) / static_cast<double>(m_computeUnit) +
           static_cast<double>(cost.communication) / static_cast<double>(m_timeUnit) +
           weight * static_cast<double>(cost.memory) / static_cast<double>(m_memoryUnit);
  }

  struct OutOfWork {};

  void spend(std::size_t work) {
    m_work += work;
    if (m_mayGiveUp && m_work > m_options.maxWork) {
      throw OutOfWork{};
    }
  }

  void makeVariables() {
    m_variables.resize(m_problem.nodes.size());
    for (std::size_t i = 0; i < m_variables.size(); ++i) {
      Variable& variable = m_variables[i];
      variable.strategies = strategiesOf(m_problem, static_cast<int>(i));
      if (variable.strategies.empty()) {
        throw Failure{{ErrorCode::infeasible,
                       "node " + inQuotes(m_problem.nodes[i].name) + " has no state that its sizes and `fixed` allow",
                       "change `fixed`, or the sizes of the mesh"}};
      }
      variable.alive.resize(variable.strategies.size());
      std::iota(variable.alive.begin(), variable.alive.end(), 0);
    }
  }

  void makeEdges() {
    m_edgesOf.resize(m_variables.size());
    std::vector<std::vector<State>> made(m_variables.size());
    for (std::size_t i = 0; i < m_variables.size(); ++i) {
      std::map<State, int> number;
      for (const Strategy& strategy : m_variables[i].strategies) {
        const auto [found, isNew] = number.try_emplace(strategy.output, static_cast<int>(number.size()));
        if (isNew) {
          made[i].push_back(strategy.output);
        }
        m_variables[i].output.push_back(found->second);
      }
      m_variables[i].takes.resize(m_variables[i].strategies.size());
    }
    std::vector<std::vector<std::vector<std::optional<Rational>>>> times;
    for (std::size_t i = 0; i < m_variables.size(); ++i) {
      const Node& node = m_problem.nodes[i];
      for (std::size_t input = 0; input < node.inputs.size(); ++input) {
        throwIfCancelled(m_progress);
        const int producer = node.inputs[input];
        std::map<State, int> number;
        std::vector<State> taken;
        for (std::size_t s = 0; s < m_variables[i].strategies.size(); ++s) {
          const State& state = m_variables[i].strategies[s].inputs[input];
          const auto [found, isNew] = number.try_emplace(state, static_cast<int>(number.size()));
          if (isNew) {
            taken.push_back(state);
          }
          m_variables[i].takes[s].push_back(found->second);
        }
        const bool isKept = node.op == Op::update && input == 1;
        auto& table = times.emplace_back();
        for (const State& from : made[static_cast<std::size_t>(producer)]) {
          auto& row = table.emplace_back();
          for (const State& to : taken) {
            row.push_back(isKept ? (from == to ? std::optional(Rational()) : std::nullopt)
                                 : conversionTime(m_problem, producer, from, to));
            if (row.back()) {
              m_timeUnit = leastCommonMultiple(m_timeUnit, row.back()->denominator());
            }
          }
        }
        m_edgesOf[static_cast<std::size_t>(producer)].push_back(static_cast<int>(m_edges.size()));
        m_edgesOf[i].push_back(static_cast<int>(m_edges.size()));
        m_edges.push_back({producer, static_cast<int>(i), {}});
        m_inputOf.push_back(static_cast<int>(input));
      }
    }
    for (std::size_t e = 0; e < m_edges.size(); ++e) {
      for (const auto& row : times[e]) {
        std::vector<int64_t>& whole = m_edges[e].time.emplace_back();
        for (const auto& time : row) {
          whole.push_back(time ? scaled(*time, m_timeUnit) : kNever);
          if (whole.back() != kNever && whole.back() > kNever / 1024) {
            throw OverflowError("times of conversions leave the exact integer range");
          }
        }
      }
    }
  }

  void scaleOwn() {
    std::vector<std::vector<Cost>> costs(m_variables.size());
    for (std::size_t i = 0; i < m_variables.size(); ++i) {
      for (const Strategy& strategy : m_variables[i].strategies) {
        costs[i].push_back(ownCost(m_problem, static_cast<int>(i), strategy));
        m_computeUnit = leastCommonMultiple(m_computeUnit, costs[i].back().compute.denominator());
        m_memoryUnit = leastCommonMultiple(m_memoryUnit, costs[i].back().memory.denominator());
      }
    }
    for (std::size_t i = 0; i < m_variables.size(); ++i) {
      for (const Cost& cost : costs[i]) {
        const Point point{scaled(cost.compute, m_computeUnit), 0, scaled(cost.memory, m_memoryUnit)};
        if (std::max(point.compute, point.memory) > kNever / 1024) {
          throw OverflowError("times and bytes of operations leave the exact integer range");
        }
        m_variables[i].own.push_back(point);
      }
    }
  }

  [[nodiscard]] int64_t timeOf(int edge, int producerStrategy, int consumerStrategy) const {
    const Edge& at = m_edges[edge];
    const Variable& consumer = m_variables[at.consumer];
    const int64_t time =
        at.time[m_variables[at.producer].output[producerStrategy]][consumer.takes[consumerStrategy][m_inputOf[edge]]];
    return time == kNever || !consumer.strategies[consumerStrategy].isDropped ? time : 2 * time;
  }

  /// How much more (less, where negative) an edge costs at most with b for a, over all strategies of the other end that
  /// a can go with. kNever: b cannot go with one of them. Nothing: a can go with none.
  class Difference {
  public:
    Difference(const Search& search, int variable, int edge) : m_isProducer(search.m_edges[edge].producer == variable) {
      const Edge& at = search.m_edges[edge];
      const Variable& own = search.m_variables[variable];
      const Variable& other = search.m_variables[m_isProducer ? at.consumer : at.producer];
      const int input = search.m_inputOf[edge];
      std::map<std::pair<int, bool>, int> keys;
      for (std::size_t s = 0; s < own.strategies.size(); ++s) {
        const std::pair<int, bool> key = m_isProducer ? std::pair(own.output[s], false)
                                                      : std::pair(own.takes[s][input], own.strategies[s].isDropped);
        m_keyOf.push_back(keys.try_emplace(key, static_cast<int>(keys.size())).first->second);
      }
      std::set<std::pair<int, bool>> others;
      for (const int s : other.alive) {
        others.insert(m_isProducer ? std::pair(other.takes[s][input], other.strategies[s].isDropped)
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

    [[nodiscard]] std::optional<int64_t> operator()(int a, int b) {
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

  private:
    static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();
    static constexpr int64_t kNone = kUnknown + 1;
    bool m_isProducer;
    std::vector<int> m_keyOf;
    std::vector<std::vector<int64_t>> m_times;  ///< by own key, by key of the other end
    std::vector<int64_t> m_known;
  };

  void dropDominated() {
    std::vector<bool> isDue(m_variables.size(), true);
    for (bool isChanged = true; isChanged;) {
      isChanged = false;
      for (std::size_t i = 0; i < m_variables.size(); ++i) {
        throwIfCancelled(m_progress);
        if (!isDue[i]) {
          continue;
        }
        isDue[i] = false;
        if (thinOut(static_cast<int>(i))) {
          isChanged = true;
          for (const int edge : m_edgesOf[i]) {
            isDue[m_edges[edge].producer] = true;
            isDue[m_edges[edge].consumer] = true;
          }
        }
      }
    }
  }

  /// Leaves out strategies that another is as good as; true where it did.
  bool thinOut(int index) {
    Variable& variable = m_variables[index];
    std::vector<Difference> differences;
    for (const int edge : m_edgesOf[index]) {
      differences.emplace_back(*this, index, edge);
    }
    std::vector<int> kept = variable.alive;
    const std::size_t before = kept.size();
    for (const int a : variable.alive) {
      const bool isReplaced = std::any_of(kept.begin(), kept.end(), [&](int b) {
        if (a == b || variable.own[b].compute > variable.own[a].compute ||
            variable.own[b].memory > variable.own[a].memory) {
          return false;
        }
        int64_t more = 0;
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

  [[nodiscard]] int sizeOf(int variable) const { return static_cast<int>(m_variables[variable].alive.size()); }

  // Factors: the edges, then the costs of the variables themselves.
  [[nodiscard]] int ownFactor(int variable) const { return static_cast<int>(m_edges.size()) + variable; }

  void makeFactors() {
    m_isSummed.assign(m_edges.size() + m_variables.size(), false);
    m_tables.clear();
    m_isOpen.clear();
    m_times.clear();
    m_own.clear();
    m_more.assign(m_edges.size(), {});
    m_leastTime = 0;
    m_leastMemory = 0;
    for (std::size_t e = 0; e < m_edges.size(); ++e) {
      const Edge& edge = m_edges[e];
      std::vector<int64_t>& times = m_times.emplace_back();
      for (const int consumer : m_variables[edge.consumer].alive) {
        for (const int producer : m_variables[edge.producer].alive) {
          times.push_back(timeOf(static_cast<int>(e), producer, consumer));
        }
      }
      throwIfCancelled(m_progress);
      for (const bool isProducer : {false, true}) {
        const int variable = isProducer ? edge.producer : edge.consumer;
        Difference difference(*this, variable, static_cast<int>(e));
        std::vector<int64_t>& more = m_more[e][isProducer ? 1 : 0];
        for (const int a : m_variables[variable].alive) {
          for (const int b : m_variables[variable].alive) {
            more.push_back(difference(a, b).value_or(-kNever));
          }
        }
      }
    }
    for (std::size_t i = 0; i < m_variables.size(); ++i) {
      std::vector<Point> own;
      Point least{kNever, 0, kNever};
      for (const int s : m_variables[i].alive) {
        own.push_back(m_variables[i].own[s]);
        least.compute = std::min(least.compute, own.back().compute);
        least.memory = std::min(least.memory, own.back().memory);
      }
      m_leastTime += static_cast<double>(least.compute) / static_cast<double>(m_computeUnit);
      m_leastMemory += static_cast<double>(least.memory) / static_cast<double>(m_memoryUnit);
      m_own.push_back(std::move(own));
    }
    m_leastMemory = std::max(m_leastMemory, 1.0);
  }

  [[nodiscard]] std::set<int> neighbours(int variable) const {
    std::set<int> found;
    for (const Table& table : m_tables) {
      const auto& of = table.variables;
      if (isOpen(table) && std::find(of.begin(), of.end(), variable) != of.end()) {
        found.insert(of.begin(), of.end());
      }
    }
    for (const int e : m_edgesOf[variable]) {
      if (!m_isSummed[e]) {
        found.insert({m_edges[e].producer, m_edges[e].consumer});
      }
    }
    found.erase(variable);
    return found;
  }

  [[nodiscard]] bool isOpen(const Table& table) const {
    return m_isOpen[static_cast<std::size_t>(&table - m_tables.data())];
  }

  void eliminateAll() {
    std::set<int> left;
    for (std::size_t i = 0; i < m_variables.size(); ++i) {
      left.insert(static_cast<int>(i));
    }
    while (!left.empty()) {
      int best = -1;
      double least = std::numeric_limits<double>::infinity();
      for (const int variable : left) {
        double size = 1;
        for (const int other : neighbours(variable)) {
          size *= sizeOf(other);
        }
        // Of equal tables, that which costs less to make.
        size *= 1 + 1e-6 * sizeOf(variable);
        if (size < least) {
          least = size;
          best = variable;
        }
      }
      m_progress.report("training", 1.0 - static_cast<double>(left.size()) / static_cast<double>(m_variables.size()));
      eliminate(best);
      left.erase(best);
    }
  }

  [[nodiscard]] std::vector<std::uint64_t> stridesOf(const std::vector<int>& variables) const {
    std::vector<std::uint64_t> strides;
    std::uint64_t stride = 1;
    for (const int variable : variables) {
      strides.push_back(stride);
      if (stride > (std::uint64_t{1} << 62) / static_cast<std::uint64_t>(sizeOf(variable))) {
        tooLarge();
      }
      stride *= static_cast<std::uint64_t>(sizeOf(variable));
    }
    return strides;
  }

  [[noreturn]] static void tooLarge() {
    throw Failure{{ErrorCode::limit, "the graph has too many states at once for the exact search",
                   "use fewer axes, fix the states of some tensors, or use a smaller graph"}};
  }

  static std::size_t placeOf(const std::vector<int>& variables, int variable) {
    return static_cast<std::size_t>(std::find(variables.begin(), variables.end(), variable) - variables.begin());
  }

  /// What a factor costs; nothing where it is not possible.
  template <typename ValueOf>
  [[nodiscard]] std::optional<Point> factorAt(int factor, const ValueOf& valueOf) const {
    if (factor >= static_cast<int>(m_edges.size())) {
      const int variable = factor - static_cast<int>(m_edges.size());
      return m_own[variable][valueOf(variable)];
    }
    const Edge& edge = m_edges[factor];
    const int64_t time =
        m_times[factor][static_cast<std::size_t>(valueOf(edge.consumer)) * m_variables[edge.producer].alive.size() +
                        static_cast<std::size_t>(valueOf(edge.producer))];
    return time == kNever ? std::nullopt : std::optional(Point{0, time, 0});
  }

  /// Sums all factors whose variables the table has.
  void addInner(Table& table) {
    std::vector<int> factors;
    for (const int variable : table.variables) {
      for (const int e : m_edgesOf[variable]) {
        const bool isInner = placeOf(table.variables, m_edges[e].producer) < table.variables.size() &&
                             placeOf(table.variables, m_edges[e].consumer) < table.variables.size();
        if (isInner && !m_isSummed[e]) {
          factors.push_back(e);
          m_isSummed[e] = true;
        }
      }
      if (!m_isSummed[ownFactor(variable)]) {
        factors.push_back(ownFactor(variable));
        m_isSummed[ownFactor(variable)] = true;
      }
    }
    if (factors.empty()) {
      return;
    }
    table.factors.insert(factors.begin(), factors.end());
    table.added.insert(table.added.end(), factors.begin(), factors.end());
    const std::vector<std::uint64_t> strides = stridesOf(table.variables);
    Table sum = emptied(table);
    for (std::size_t entry = 0; entry < table.size(); ++entry) {
      const auto valueOf = [&](int variable) {
        const std::size_t place = placeOf(table.variables, variable);
        return static_cast<int>(table.keys[entry] / strides[place] % static_cast<std::uint64_t>(sizeOf(variable)));
      };
      std::optional<Point> more = Point{};
      for (std::size_t i = 0; i < factors.size() && more; ++i) {
        const auto each = factorAt(factors[i], valueOf);
        more = each ? std::optional(*more + *each) : std::nullopt;
      }
      if (more) {
        sum.keys.push_back(table.keys[entry]);
        for (std::size_t p = table.start[entry]; p < table.start[entry + 1]; ++p) {
          sum.points.push_back(table.points[p] + *more);
        }
        sum.start.push_back(sum.points.size());
      }
    }
    table = std::move(sum);
  }

  /// The same without entries.
  static Table emptied(const Table& table) {
    return {table.variables, {}, {0}, {}, table.factors, table.eliminated, table.from, table.added};
  }

  /// With another variable, of which nothing is known yet.
  [[nodiscard]] Table widened(const Table& table, int variable) const {
    Table wide = emptied(table);
    wide.variables.push_back(variable);
    const std::uint64_t stride = stridesOf(wide.variables).back();
    for (int value = 0; value < sizeOf(variable); ++value) {
      for (std::size_t entry = 0; entry < table.size(); ++entry) {
        wide.keys.push_back(table.keys[entry] + stride * static_cast<std::uint64_t>(value));
        wide.points.insert(wide.points.end(), table.points.begin() + static_cast<std::ptrdiff_t>(table.start[entry]),
                           table.points.begin() + static_cast<std::ptrdiff_t>(table.start[entry + 1]));
        wide.start.push_back(wide.points.size());
      }
    }
    return wide;
  }

  /// Digits of a key at some places, as a key of their own.
  struct Part {
    std::vector<std::array<std::uint64_t, 3>> digits;  ///< stride, size, stride in the part

    [[nodiscard]] std::uint64_t of(std::uint64_t key) const {
      std::uint64_t part = 0;
      for (const auto& [stride, size, own] : digits) {
        part += key / stride % size * own;
      }
      return part;
    }
  };
  /// The digits of `variables` in keys of `in`, as they stand in keys of `as`.
  [[nodiscard]] Part partOf(const std::vector<int>& variables, const std::vector<int>& in,
                            const std::vector<int>& as) const {
    const auto from = stridesOf(in);
    const auto to = stridesOf(as);
    Part part;
    for (const int variable : variables) {
      part.digits.push_back(
          {from[placeOf(in, variable)], static_cast<std::uint64_t>(sizeOf(variable)), to[placeOf(as, variable)]});
    }
    return part;
  }

  [[nodiscard]] Table joined(const Table& first, const Table& second) {
    Table sum = emptied(first);
    sum.factors.insert(second.factors.begin(), second.factors.end());
    std::vector<int> shared;
    std::vector<int> added;
    for (const int variable : second.variables) {
      (placeOf(first.variables, variable) < first.variables.size() ? shared : added).push_back(variable);
    }
    sum.variables.insert(sum.variables.end(), added.begin(), added.end());
    const Part ofFirst = partOf(shared, first.variables, shared);
    const Part ofSecond = partOf(shared, second.variables, shared);
    const Part more = partOf(added, second.variables, sum.variables);
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> entriesAt;
    for (std::size_t entry = 0; entry < second.size(); ++entry) {
      entriesAt[ofSecond.of(second.keys[entry])].push_back(entry);
    }
    FrontBuilder front;
    std::vector<Point> sums;
    for (std::size_t entry = 0; entry < first.size(); ++entry) {
      const auto found = entriesAt.find(ofFirst.of(first.keys[entry]));
      if (entry % 1024 == 0) {
        throwIfCancelled(m_progress);
      }
      for (const std::size_t other : found == entriesAt.end() ? std::vector<std::size_t>{} : found->second) {
        sums.clear();
        for (std::size_t p = first.start[entry]; p < first.start[entry + 1]; ++p) {
          for (std::size_t q = second.start[other]; q < second.start[other + 1]; ++q) {
            sums.push_back(first.points[p] + second.points[q]);
          }
        }
        append(sum, first.keys[entry] + more.of(second.keys[other]), sums, front);
      }
    }
    return sum;
  }

  void append(Table& table, std::uint64_t key, std::span<const Point> points, FrontBuilder& front) {
    spend(points.size());
    front.clear();
    front.add(points);
    front.finish(m_thinning);
    table.keys.push_back(key);
    table.points.insert(table.points.end(), front.points().begin(), front.points().end());
    table.start.push_back(table.points.size());
    if (table.points.size() > m_options.maxPoints && m_thinning == 0) {
      m_thinning = kThinning / static_cast<double>(2 * (m_variables.size() + m_edges.size()));
    }
    if (table.points.size() > kMaxPoints) {
      tooLarge();
    }
  }

  /// Leaves out what costs no less than another value of one variable, whatever the rest of the graph chooses: the
  /// edges of the variable that are not in the sum cost so much more at most. Of equals the lower value stays. A chain
  /// of such replacements ends, because each costs less, or the same with lower values of variables that are eliminated
  /// later.
  void prune(Table& table) {
    const std::vector<std::uint64_t> strides = stridesOf(table.variables);
    std::vector<char> isGone(table.points.size(), 0);
    std::vector<std::size_t> order(table.size());
    for (std::size_t place = 0; place < table.variables.size(); ++place) {
      throwIfCancelled(m_progress);
      const int variable = table.variables[place];
      const auto size = static_cast<std::size_t>(sizeOf(variable));
      std::vector<int64_t> more(size * size, 0);
      for (const int e : m_edgesOf[variable]) {
        if (!table.factors.contains(e)) {
          const std::vector<int64_t>& each = m_more[e][m_edges[e].producer == variable ? 1 : 0];
          for (std::size_t i = 0; i < more.size(); ++i) {
            more[i] = more[i] == kNever || each[i] == kNever ? kNever : std::max(more[i] + each[i], -kNever);
          }
        }
      }
      const bool hasOwn = table.factors.contains(ownFactor(variable));
      const auto valueAt = [&](std::size_t entry) {
        return static_cast<std::size_t>(table.keys[entry] / strides[place] % size);
      };
      const auto restAt = [&](std::size_t entry) { return table.keys[entry] - valueAt(entry) * strides[place]; };
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(restAt(a), table.keys[a]) < std::pair(restAt(b), table.keys[b]);
      });
      for (std::size_t begin = 0; begin < order.size();) {
        std::size_t end = begin + 1;
        while (end < order.size() && restAt(order[end]) == restAt(order[begin])) {
          ++end;
        }
        spend((end - begin) * (end - begin));
        for (std::size_t i = begin; i < end && end - begin > 1; ++i) {
          for (std::size_t j = begin; j < end; ++j) {
            const std::size_t a = valueAt(order[i]);
            const std::size_t b = valueAt(order[j]);
            const int64_t time = more[a * size + b];
            if (i != j && time != kNever) {
              const Point added = hasOwn ? Point{0, time, 0}
                                         : Point{m_own[variable][b].compute - m_own[variable][a].compute, time,
                                                 m_own[variable][b].memory - m_own[variable][a].memory};
              dropCovered(table, order[i], order[j], added, b < a, isGone);
            }
          }
        }
        begin = end;
      }
    }
    Table left = emptied(table);
    for (std::size_t entry = 0; entry < table.size(); ++entry) {
      for (std::size_t p = table.start[entry]; p < table.start[entry + 1]; ++p) {
        if (isGone[p] == 0) {
          left.points.push_back(table.points[p]);
        }
      }
      if (left.points.size() > left.start.back()) {
        left.keys.push_back(table.keys[entry]);
        left.start.push_back(left.points.size());
      }
    }
    table = std::move(left);
  }

  /// Marks the points of an entry that a point of another one covers, with what changing costs.
  void dropCovered(const Table& table, std::size_t entry, std::size_t other, const Point& added, bool winsTies,
                   std::vector<char>& isGone) {
    spend(table.start[entry + 1] - table.start[entry]);
    for (std::size_t p = table.start[entry]; p < table.start[entry + 1]; ++p) {
      const Point& point = table.points[p];
      for (std::size_t q = table.start[other]; q < table.start[other + 1] && isGone[p] == 0; ++q) {
        const Point& by = table.points[q];
        if (by.compute + added.compute > point.compute) {
          break;  // ascending
        }
        if (isGone[q] == 0 && by.communication + added.communication <= point.communication &&
            by.memory + added.memory <= point.memory) {
          const bool isEqual = by.compute + added.compute == point.compute &&
                               by.communication + added.communication == point.communication &&
                               by.memory + added.memory == point.memory;
          isGone[p] = !isEqual || winsTies ? 1 : 0;
        }
      }
    }
  }

  void eliminate(int variable) {
    std::vector<int> open;
    for (std::size_t t = 0; t < m_tables.size(); ++t) {
      const auto& of = m_tables[t].variables;
      if (m_isOpen[t] && placeOf(of, variable) < of.size()) {
        open.push_back(static_cast<int>(t));
      }
    }
    Table table{{}, {0}, {0, 1}, {Point{}}, {}, -1, {}, {}};
    const auto take = [&](std::size_t which) {
      const int t = open[which];
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
      m_isOpen[t] = false;
      std::vector<int> from = table.from;
      from.push_back(t);
      table = joined(table, m_tables[t]);
      table.from = std::move(from);
    };
    if (open.empty()) {
      table = widened(table, variable);
    } else {
      take(0);
    }
    addInner(table);
    for (;;) {
      prune(table);
      // Next what adds the fewest values.
      double least = std::numeric_limits<double>::infinity();
      std::function<void()> next;
      for (std::size_t i = 0; i < open.size(); ++i) {
        double growth = 1;
        for (const int other : m_tables[open[i]].variables) {
          growth *= placeOf(table.variables, other) < table.variables.size() ? 1 : sizeOf(other);
        }
        if (growth < least) {
          least = growth;
          next = [&take, i] { take(i); };
        }
      }
      for (const int e : m_edgesOf[variable]) {
        if (!m_isSummed[e]) {
          const int other = m_edges[e].producer == variable ? m_edges[e].consumer : m_edges[e].producer;
          if (sizeOf(other) < least) {
            least = sizeOf(other);
            next = [this, &table, other] { table = widened(table, other); };
          }
        }
      }
      if (!next) {
        break;
      }
      next();
      addInner(table);
    }
    m_tables.push_back(minimum(table, variable));
    m_isOpen.push_back(true);
  }

  /// Over all values of the variable.
  [[nodiscard]] Table minimum(const Table& table, int variable) {
    Table least = emptied(table);
    least.eliminated = variable;
    least.variables.erase(std::find(least.variables.begin(), least.variables.end(), variable));
    const Part rest = partOf(least.variables, table.variables, least.variables);
    std::vector<std::pair<std::uint64_t, std::size_t>> order;
    for (std::size_t entry = 0; entry < table.size(); ++entry) {
      order.emplace_back(rest.of(table.keys[entry]), entry);
    }
    std::sort(order.begin(), order.end());
    FrontBuilder front;
    std::vector<Point> points;
    for (std::size_t i = 0; i < order.size();) {
      points.clear();
      const std::uint64_t key = order[i].first;
      for (; i < order.size() && order[i].first == key; ++i) {
        const std::size_t entry = order[i].second;
        points.insert(points.end(), table.points.begin() + static_cast<std::ptrdiff_t>(table.start[entry]),
                      table.points.begin() + static_cast<std::ptrdiff_t>(table.start[entry + 1]));
      }
      append(least, key, points, front);
    }
    prune(least);
    return least;
  }

  /// Points of the tables that sum to the target, one of each.
  bool split(const std::vector<int>& tables, std::size_t from, const Point& target, const std::vector<int>& values,
             std::vector<Point>& parts) const {
    if (from == tables.size()) {
      return target == Point{};
    }
    const Table& table = m_tables[tables[from]];
    const auto strides = stridesOf(table.variables);
    std::uint64_t key = 0;
    for (std::size_t i = 0; i < strides.size(); ++i) {
      key += strides[i] * static_cast<std::uint64_t>(values[table.variables[i]]);
    }
    const auto found = std::lower_bound(table.keys.begin(), table.keys.end(), key);
    if (found == table.keys.end() || *found != key) {
      return false;
    }
    const auto entry = static_cast<std::size_t>(found - table.keys.begin());
    for (std::size_t p = table.start[entry]; p < table.start[entry + 1]; ++p) {
      const Point& point = table.points[p];
      if (point.compute <= target.compute && point.communication <= target.communication &&
          point.memory <= target.memory) {
        parts.push_back(point);
        if (split(tables, from + 1, target - point, values, parts)) {
          return true;
        }
        parts.pop_back();
      }
    }
    return false;
  }

  /// Finds values of the variables that a table was made without, which cost the target.
  void trace(int index, const Point& target, std::vector<int>& values) const {
    const Table& table = m_tables[index];
    for (int value = 0; value < sizeOf(table.eliminated); ++value) {
      values[table.eliminated] = value;
      std::optional<Point> rest = target;
      for (std::size_t i = 0; i < table.added.size() && rest; ++i) {
        const auto each = factorAt(table.added[i], [&](int variable) { return values[variable]; });
        rest = each ? std::optional(*rest - *each) : std::nullopt;
      }
      std::vector<Point> parts;
      if (rest && split(table.from, 0, *rest, values, parts)) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
          trace(table.from[i], parts[i], values);
        }
        return;
      }
    }
  }

  void collect() {
    std::vector<int> roots;
    FrontBuilder front;
    std::vector<Point> sums{Point{}};
    for (std::size_t t = 0; t < m_tables.size(); ++t) {
      if (m_isOpen[t]) {
        roots.push_back(static_cast<int>(t));
        front.clear();
        std::vector<Point> next;
        for (const Point& point : m_tables[t].points) {
          for (const Point& sum : sums) {
            next.push_back(sum + point);
          }
        }
        front.add(next);
        front.finish(0);
        sums.assign(front.points().begin(), front.points().end());
      }
    }
    if (sums.empty()) {
      throw Failure{
          {ErrorCode::infeasible, "no states of the tensors fit together", "change `fixed`, or the sizes of the mesh"}};
    }
    for (const Point& target : sums) {
      std::vector<int> values(m_variables.size(), 0);
      std::vector<Point> parts;
      split(roots, 0, target, values, parts);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        trace(roots[i], parts[i], values);
      }
      Found found{target, {}};
      for (std::size_t i = 0; i < values.size(); ++i) {
        found.strategies.push_back(m_variables[i].alive[values[i]]);
      }
      m_found.push_back(std::move(found));
    }
  }

  const Problem& m_problem;
  const SearchOptions& m_options;
  const Progress& m_progress;
  std::vector<Variable> m_variables;
  std::vector<Edge> m_edges;
  std::vector<int> m_inputOf;                 ///< by edge: which input of its consumer
  std::vector<std::vector<int>> m_edgesOf;    ///< by variable
  std::vector<std::vector<Point>> m_own;      ///< by variable, by value: its place among those that are alive
  std::vector<std::vector<int64_t>> m_times;  ///< by edge, by value of the consumer, then of the producer
  /// By edge, for its consumer and its producer: by value a, then b, how much more it costs at most with b for a.
  std::vector<std::array<std::vector<int64_t>, 2>> m_more;
  std::vector<bool> m_isSummed;  ///< by factor: it is in a table
  std::vector<Table> m_tables;
  std::vector<bool> m_isOpen;  ///< tables that no elimination has summed yet
  std::size_t m_work = 0;
  bool m_mayGiveUp = true;  ///< an exact search out of work ends
  std::vector<Found> m_found;
  double m_leastTime = 0;    ///< ns, of all operations
  double m_leastMemory = 0;  ///< bytes
  double m_thinning = 0;     ///< part of 1 that a front may lose in each sum
  int64_t m_timeUnit = 1;    ///< parts of a ns that times of conversions are counted in
  int64_t m_computeUnit = 1;
  int64_t m_memoryUnit = 1;
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
      sum.communication += *time * Rational(strategies[i].isDropped ? 2 : 1);
    }
  }
  return sum;
}

}  // namespace coppice::training
