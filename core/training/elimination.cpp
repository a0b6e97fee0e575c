// SPDX-License-Identifier: Apache-2.0
#include "training/elimination.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <set>
#include <span>
#include <unordered_map>

#include "base/failure.hpp"

namespace coppice::training {
namespace {

using std::int64_t;

constexpr std::size_t kMaxPoints = 100'000'000;
constexpr double kThinning = 0.001;
constexpr double kMostEntries = 5e7;
constexpr std::size_t kMinPruned = 512;  ///< points of a table that are worth the comparisons

/// What some operations and conversions cost together, by the values of some of their variables: the minimum over the
/// others, which are eliminated.
struct Table {
  std::vector<int> variables;
  std::vector<std::uint64_t> keys;  ///< by entry: the values, the first variable fastest
  std::vector<std::size_t> start;   ///< by entry, into the points; one more at the end
  std::vector<Point> points;        ///< the front of each entry
  std::vector<bool> factors = {};   ///< by edge, then by variable: it is in the sum
  int eliminated = -1;              ///< the last variable
  std::vector<int> from = {};       ///< tables that were summed for it
  std::vector<int> added = {};      ///< factors that were summed for it besides

  [[nodiscard]] std::size_t size() const { return keys.size(); }
};

class Elimination {
public:
  Elimination(const Costs& costs, Budget& budget, const Progress& progress)
      : m_costs(costs), m_budget(budget), m_progress(progress) {}

  [[nodiscard]] std::vector<Found> run() {
    const Order chosen = order();
    if (m_budget.mayGiveUp && chosen.largest > kMostEntries) {
      throw OutOfWork{};
    }
    makeFactors();
    for (std::size_t i = 0; i < chosen.variables.size(); ++i) {
      m_progress.report("training", static_cast<double>(i) / static_cast<double>(chosen.variables.size()));
      eliminate(chosen.variables[i]);
    }
    return collect();
  }

private:
  /// In which order variables are eliminated, the smallest table first, and the entries of the largest table that this
  /// makes, if none are left out.
  struct Order {
    std::vector<int> variables;
    double largest = 0;
  };
  [[nodiscard]] Order order() const {
    const std::size_t count = m_costs.variables.size();
    std::vector<std::set<int>> next(count);
    for (const Edge& edge : m_costs.edges) {
      next[edge.producer].insert(edge.consumer);
      next[edge.consumer].insert(edge.producer);
    }
    std::vector<double> entries(count);
    const auto countEntries = [&](int variable) {
      entries[variable] = std::accumulate(next[variable].begin(), next[variable].end(), 1.0,
                                          [&](double size, int other) { return size * sizeOf(other); });
    };
    std::vector<int> left(count);
    std::iota(left.begin(), left.end(), 0);
    std::for_each(left.begin(), left.end(), countEntries);
    // Of equal tables, that which costs less to make.
    const auto workOf = [&](int variable) { return entries[variable] * (1 + 1e-6 * sizeOf(variable)); };
    Order made;
    while (!left.empty()) {
      const auto best =
          std::min_element(left.begin(), left.end(), [&](int a, int b) { return workOf(a) < workOf(b); });
      const int variable = *best;
      made.variables.push_back(variable);
      made.largest = std::max(made.largest, entries[variable]);
      for (const int a : next[variable]) {
        next[a].insert(next[variable].begin(), next[variable].end());
        next[a].erase(a);
        next[a].erase(variable);
        countEntries(a);
      }
      left.erase(best);
    }
    return made;
  }

  [[nodiscard]] int sizeOf(int variable) const { return static_cast<int>(m_costs.variables[variable].alive.size()); }

  // Factors: the edges, then the costs of the variables themselves.
  [[nodiscard]] int ownFactor(int variable) const { return static_cast<int>(m_costs.edges.size()) + variable; }

  void makeFactors() {
    m_isSummed.assign(m_costs.edges.size() + m_costs.variables.size(), false);
    m_tables.clear();
    m_isOpen.clear();
    m_times.clear();
    m_own.clear();
    m_more.assign(m_costs.edges.size(), {});
    for (std::size_t e = 0; e < m_costs.edges.size(); ++e) {
      const Edge& edge = m_costs.edges[e];
      std::vector<int64_t>& times = m_times.emplace_back();
      for (const int consumer : m_costs.variables[edge.consumer].alive) {
        for (const int producer : m_costs.variables[edge.producer].alive) {
          times.push_back(m_costs.timeOf(static_cast<int>(e), producer, consumer));
        }
      }
      throwIfCancelled(m_progress);
      for (const bool isProducer : {false, true}) {
        const int variable = isProducer ? edge.producer : edge.consumer;
        Difference difference(m_costs, variable, static_cast<int>(e));
        std::vector<int64_t>& more = m_more[e][isProducer ? 1 : 0];
        for (const int a : m_costs.variables[variable].alive) {
          for (const int b : m_costs.variables[variable].alive) {
            more.push_back(difference(a, b).value_or(-kNever));
          }
        }
      }
    }
    for (std::size_t i = 0; i < m_costs.variables.size(); ++i) {
      std::vector<Point> own;
      for (const int s : m_costs.variables[i].alive) {
        own.push_back(m_costs.variables[i].own[s]);
      }
      m_own.push_back(std::move(own));
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
    if (factor >= static_cast<int>(m_costs.edges.size())) {
      const int variable = factor - static_cast<int>(m_costs.edges.size());
      return m_own[variable][valueOf(variable)];
    }
    const Edge& edge = m_costs.edges[factor];
    const int64_t time = m_times[factor][static_cast<std::size_t>(valueOf(edge.consumer)) *
                                             m_costs.variables[edge.producer].alive.size() +
                                         static_cast<std::size_t>(valueOf(edge.producer))];
    return time == kNever ? std::nullopt : std::optional(Point{0, time, 0});
  }

  /// Sums all factors whose variables the table has.
  void addInner(Table& table) {
    std::vector<int> factors;
    for (const int variable : table.variables) {
      for (const int e : m_costs.edgesOf[variable]) {
        const bool isInner = placeOf(table.variables, m_costs.edges[e].producer) < table.variables.size() &&
                             placeOf(table.variables, m_costs.edges[e].consumer) < table.variables.size();
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
    for (const int factor : factors) {
      table.factors[factor] = true;
    }
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
    for (std::size_t i = 0; i < sum.factors.size(); ++i) {
      sum.factors[i] = sum.factors[i] || second.factors[i];
    }
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

  void spend(std::size_t work) {
    m_budget.work += work;
    if (m_budget.mayGiveUp && m_budget.work > m_budget.maxWork) {
      throw OutOfWork{};
    }
  }

  void append(Table& table, std::uint64_t key, std::span<const Point> points, FrontBuilder& front) {
    spend(points.size());
    front.clear();
    front.add(points);
    front.finish(m_budget.thinning);
    table.keys.push_back(key);
    table.points.insert(table.points.end(), front.points().begin(), front.points().end());
    table.start.push_back(table.points.size());
    if (table.points.size() > m_budget.maxPoints && m_budget.thinning == 0) {
      m_budget.thinning = kThinning / static_cast<double>(2 * (m_costs.variables.size() + m_costs.edges.size()));
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
    const std::vector<Box> boxes = boxesOf(table);
    for (std::size_t place = 0; place < table.variables.size(); ++place) {
      throwIfCancelled(m_progress);
      const int variable = table.variables[place];
      const auto size = static_cast<std::size_t>(sizeOf(variable));
      std::vector<int64_t> more(size * size, 0);
      for (const int e : m_costs.edgesOf[variable]) {
        if (!table.factors[e]) {
          const std::vector<int64_t>& each = m_more[e][m_costs.edges[e].producer == variable ? 1 : 0];
          for (std::size_t i = 0; i < more.size(); ++i) {
            more[i] = more[i] == kNever || each[i] == kNever ? kNever : std::max(more[i] + each[i], -kNever);
          }
        }
      }
      const bool hasOwn = table.factors[ownFactor(variable)];
      // What may come instead of a value, and what that adds at most.
      std::vector<std::vector<std::pair<std::size_t, Point>>> instead(size);
      bool mayBeReplaced = false;
      for (std::size_t a = 0; a < size; ++a) {
        for (std::size_t b = 0; b < size; ++b) {
          const int64_t time = more[a * size + b];
          if (a != b && time != kNever) {
            const Point added =
                hasOwn ? Point{0, time, 0} : m_own[variable][b] - m_own[variable][a] + Point{0, time, 0};
            instead[a].emplace_back(b, added);
            mayBeReplaced = true;
          }
        }
      }
      if (!mayBeReplaced) {
        continue;
      }
      struct Entry {
        std::uint64_t rest;
        std::size_t value;
        std::size_t entry;
      };
      std::vector<Entry> entries;
      entries.reserve(table.size());
      for (std::size_t entry = 0; entry < table.size(); ++entry) {
        const std::uint64_t key = table.keys[entry];
        const std::uint64_t value = key / strides[place] % size;
        entries.push_back({key - value * strides[place], static_cast<std::size_t>(value), entry});
      }
      std::sort(entries.begin(), entries.end(),
                [](const Entry& a, const Entry& b) { return a.rest != b.rest ? a.rest < b.rest : a.value < b.value; });
      constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
      std::vector<std::size_t> entryOf(size, kNone);
      for (std::size_t begin = 0; begin < entries.size();) {
        std::size_t end = begin;
        for (; end < entries.size() && entries[end].rest == entries[begin].rest; ++end) {
          entryOf[entries[end].value] = entries[end].entry;
        }
        for (std::size_t i = begin; i < end && end - begin > 1; ++i) {
          const std::size_t value = entries[i].value;
          spend(instead[value].size());
          for (const auto& [other, added] : instead[value]) {
            if (entryOf[other] != kNone) {
              dropCovered(table, boxes, entries[i].entry, entryOf[other], added, other < value, isGone);
            }
          }
        }
        for (std::size_t i = begin; i < end; ++i) {
          entryOf[entries[i].value] = kNone;
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

  /// Around the points of an entry.
  struct Box {
    Point least;
    Point most;
  };
  [[nodiscard]] static std::vector<Box> boxesOf(const Table& table) {
    std::vector<Box> boxes;
    boxes.reserve(table.size());
    for (std::size_t entry = 0; entry < table.size(); ++entry) {
      Box box{table.points[table.start[entry]], table.points[table.start[entry]]};
      for (std::size_t p = table.start[entry] + 1; p < table.start[entry + 1]; ++p) {
        const Point& point = table.points[p];
        box.least = {std::min(box.least.compute, point.compute), std::min(box.least.communication, point.communication),
                     std::min(box.least.memory, point.memory)};
        box.most = {std::max(box.most.compute, point.compute), std::max(box.most.communication, point.communication),
                    std::max(box.most.memory, point.memory)};
      }
      boxes.push_back(box);
    }
    return boxes;
  }

  [[nodiscard]] static bool isAtMost(const Point& a, const Point& added, const Point& b) {
    return a.compute + added.compute <= b.compute && a.communication + added.communication <= b.communication &&
           a.memory + added.memory <= b.memory;
  }

  /// Marks the points of an entry that a point of another one covers, with what changing costs.
  void dropCovered(const Table& table, const std::vector<Box>& boxes, std::size_t entry, std::size_t other,
                   const Point& added, bool winsTies, std::vector<char>& isGone) {
    if (!isAtMost(boxes[other].least, added, boxes[entry].most)) {
      return;
    }
    spend(table.start[entry + 1] - table.start[entry]);
    for (std::size_t p = table.start[entry]; p < table.start[entry + 1]; ++p) {
      const Point& point = table.points[p];
      if (isGone[p] != 0 || !isAtMost(boxes[other].least, added, point)) {
        continue;
      }
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
    Table table{{}, {0}, {0, 1}, {Point{}}, std::vector<bool>(m_isSummed.size(), false), -1, {}, {}};
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
      if (table.points.size() > kMinPruned) {
        prune(table);
      }
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
      for (const int e : m_costs.edgesOf[variable]) {
        if (!m_isSummed[e]) {
          const int other =
              m_costs.edges[e].producer == variable ? m_costs.edges[e].consumer : m_costs.edges[e].producer;
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

  [[nodiscard]] std::vector<Found> collect() const {
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
    std::vector<Found> all;
    for (const Point& target : sums) {
      std::vector<int> values(m_costs.variables.size(), 0);
      std::vector<Point> parts;
      split(roots, 0, target, values, parts);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        trace(roots[i], parts[i], values);
      }
      Found found{target, {}};
      for (std::size_t i = 0; i < values.size(); ++i) {
        found.strategies.push_back(m_costs.variables[i].alive[values[i]]);
      }
      all.push_back(std::move(found));
    }
    return all;
  }

  const Costs& m_costs;
  Budget& m_budget;
  const Progress& m_progress;
  std::vector<std::vector<Point>> m_own;      ///< by variable, by value: its place among those that are alive
  std::vector<std::vector<int64_t>> m_times;  ///< by edge, by value of the consumer, then of the producer
  /// By edge, for its consumer and its producer: by value a, then b, how much more it costs at most with b for a.
  std::vector<std::array<std::vector<int64_t>, 2>> m_more;
  std::vector<bool> m_isSummed;  ///< by factor: it is in a table
  std::vector<Table> m_tables;
  std::vector<bool> m_isOpen;  ///< tables that no elimination has summed yet
};

}  // namespace

std::vector<Found> eliminate(const Costs& costs, Budget& budget, const Progress& progress) {
  return Elimination(costs, budget, progress).run();
}

}  // namespace coppice::training
