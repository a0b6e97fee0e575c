// SPDX-License-Identifier: Apache-2.0
#include "lp/shared_halves.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/checked.hpp"
#include "lp/simplex.hpp"

namespace coppice::lp {
namespace {

std::int64_t ceilingOf(const Rational& value) {
  return -(-value).floor();
}

class HalvesSearch {
public:
  HalvesSearch(const HalvesProblem& problem, const Rational& start, Milliseconds budget, const Progress& progress)
      : m_problem(problem),
        m_progress(progress),
        m_budget(budget),
        m_arcCount(static_cast<int>(problem.arcs.size())),
        m_simplex(columnsFor(problem, start)) {
    for (std::size_t half = 0; half < 2; ++half) {
      std::vector<ArcEnds> ends = problem.arcs;
      for (ArcEnds& arc : ends) {
        if (half == 0) {
          std::swap(arc.tail, arc.head);
        }
      }
      m_cuts.emplace_back(problem.nodeCount, problem.isGpu, std::move(ends));
    }
  }

  std::optional<HalvesShares> run() {
    const std::size_t columns = m_simplex.columns().size();
    if (isTooLarge(m_problem.arcs.size() + 4 * static_cast<std::size_t>(m_problem.nodeCount), columns)) {
      return std::nullopt;
    }
    addRows();
    const auto stop = stopTest(m_budget, m_progress);
    for (int refinements = 0;;) {
      throwIfCancelled(m_progress);
      const SimplexStatus status = m_simplex.solve(stop);
      throwIfCancelled(m_progress);
      if (status == SimplexStatus::stopped) {
        return std::nullopt;
      }
      bool isAdded = false;
      if (status == SimplexStatus::optimal) {
        isAdded = addViolated();
        if (!isAdded) {
          if (const auto point = m_simplex.exactPoint(stop)) {
            isAdded = addViolatedExactly(*point);
            if (!isAdded && isProved(*point, stop)) {
              return sharesOf(*point);
            }
          }
        }
      }
      if (isTooLarge(m_simplex.rows().size(), columns)) {
        return std::nullopt;
      }
      if (!isAdded && (++refinements > kMaxRefinements || !m_simplex.refine(stop))) {
        throwIfCancelled(m_progress);
        return std::nullopt;
      }
    }
  }

private:
  /// Trees on each arc of half 0, then of half 1, then t.
  static std::vector<Column> columnsFor(const HalvesProblem& problem, const Rational& start) {
    std::vector<Column> columns;
    double largest = 1;
    for (const std::int64_t capacity : problem.capacities) {
      largest = std::max(largest, static_cast<double>(ceilingOf(start * Rational(capacity))));
    }
    for (std::size_t half = 0; half < 2; ++half) {
      for (std::size_t i = 0; i < problem.arcs.size(); ++i) {
        const std::int64_t load = problem.halves[half].load[i];
        columns.push_back({.lower = load,
                           .upper = std::max(load, ceilingOf(start * Rational(problem.capacities[i]))),
                           .cost = 0,
                           .scale = largest,
                           .preference = -1e-7 * (0.9 + 0.2 * spread(static_cast<int>(i)))});
      }
    }
    columns.push_back(
        {.lower = 0,
         .upper = ceilingOf(start) + 1,
         .cost = -1,
         .scale = std::max(1e-9, static_cast<double>(start.numerator()) / static_cast<double>(start.denominator()))});
    return columns;
  }

  [[nodiscard]] int column(std::size_t half, int arc) const { return static_cast<int>(half) * m_arcCount + arc; }
  [[nodiscard]] int timeColumn() const { return 2 * m_arcCount; }

  void addRows() {
    for (int i = 0; i < m_arcCount; ++i) {
      m_simplex.addRow(
          {{{column(0, i), 1}, {column(1, i), 1}, {timeColumn(), -m_problem.capacities[i]}}, std::nullopt, 0});
    }
    for (std::size_t half = 0; half < 2; ++half) {
      auto balance = balanceTerms(m_problem.nodeCount, m_problem.arcs, column(half, 0));
      for (int node = 0; node < m_problem.nodeCount; ++node) {
        NodeSet alone(static_cast<std::size_t>(m_problem.nodeCount), false);
        alone[node] = true;
        if (m_problem.isGpu[node]) {
          addCut(half, alone);
        } else if (!balance[node].empty()) {
          m_simplex.addRow({std::move(balance[node]), 0, 0});
        }
      }
    }
  }

  bool addCut(std::size_t half, const NodeSet& set) {
    if (!m_known[half].insert(set).second) {
      return false;
    }
    const HalvesProblem::Half& of = m_problem.halves[half];
    Row row;
    std::int64_t least = 0;
    for (int i = 0; i < m_arcCount; ++i) {
      const ArcEnds& arc = m_cuts[half].arcs()[i];
      if (set[arc.head] && !set[arc.tail]) {
        row.terms.push_back({column(half, i), 1});
        least = checkedAdd(least, of.load[i]);
      }
    }
    for (int node = 0; node < m_problem.nodeCount; ++node) {
      least = checkedAdd(least, set[node] ? std::int64_t{0} : of.supply[node]);
    }
    row.lower = least;
    m_simplex.addRow(std::move(row));
    return true;
  }

  bool addAll(std::size_t half, const std::vector<NodeSet>& sets) {
    bool isAdded = false;
    for (const NodeSet& set : sets) {
      isAdded = addCut(half, set) || isAdded;
    }
    return isAdded;
  }

  bool addViolated() {
    bool isAdded = false;
    for (std::size_t half = 0; half < 2; ++half) {
      const HalvesProblem::Half& of = m_problem.halves[half];
      double largest = 1;
      std::vector<double> left(m_problem.arcs.size());
      for (int i = 0; i < m_arcCount; ++i) {
        left[i] = m_simplex.value(column(half, i)) - static_cast<double>(of.load[i]);
        largest = std::max(largest, left[i]);
      }
      for (const std::int64_t supply : of.supply) {
        largest = std::max(largest, static_cast<double>(supply));
      }
      std::vector<std::int64_t> units;
      for (const double each : left) {
        units.push_back(toCutUnits(each, largest));
      }
      std::vector<std::int64_t> supplies;
      for (const std::int64_t supply : of.supply) {
        supplies.push_back(toCutUnits(static_cast<double>(supply), largest));
      }
      isAdded = addAll(half, m_cuts[half].violated(units, supplies, kCutTolerance, false, m_progress)) || isAdded;
    }
    return isAdded;
  }

  bool addViolatedExactly(const ExactPoint& point) {
    bool isAdded = false;
    for (std::size_t half = 0; half < 2; ++half) {
      const HalvesProblem::Half& of = m_problem.halves[half];
      std::vector<std::int64_t> left;
      for (int i = 0; i < m_arcCount; ++i) {
        left.push_back(checkedSub(point.numerators[column(half, i)], checkedMul(of.load[i], point.denominator)));
      }
      std::vector<std::int64_t> supplies;
      for (const std::int64_t supply : of.supply) {
        supplies.push_back(checkedMul(supply, point.denominator));
      }
      isAdded = addAll(half, m_cuts[half].violated(left, supplies, 0, false, m_progress)) || isAdded;
    }
    return isAdded;
  }

  [[nodiscard]] bool isProved(const ExactPoint& point, const StopTest& stop) const {
    const auto proved = m_simplex.provedBound(stop);
    return proved && checkedMul<Int128>(proved->numerator, point.denominator) ==
                         checkedMul<Int128>(proved->denominator, -Int128{point.numerators.back()});
  }

  [[nodiscard]] HalvesShares sharesOf(const ExactPoint& point) const {
    HalvesShares shares{Rational(point.numerators.back(), point.denominator), {}, point.denominator};
    for (std::size_t half = 0; half < 2; ++half) {
      const auto first = point.numerators.begin() + column(half, 0);
      shares.trees[half].assign(first, first + m_arcCount);
    }
    return shares;
  }

  const HalvesProblem& m_problem;
  const Progress& m_progress;
  WorkBudget m_budget;
  int m_arcCount;
  Simplex m_simplex;
  std::vector<CutFinder> m_cuts;  ///< by half: in-trees on the arcs turned round
  std::array<std::set<NodeSet>, 2> m_known;
};

}  // namespace

std::optional<HalvesShares> shareHalves(const HalvesProblem& problem, const Rational& start, Milliseconds budget,
                                        const Progress& progress) {
  return HalvesSearch(problem, start, budget, progress).run();
}

}  // namespace coppice::lp
