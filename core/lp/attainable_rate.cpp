// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <new>
#include <set>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "lp/balance.hpp"
#include "lp/cut_finder.hpp"
#include "lp/min_removal.hpp"
#include "lp/program_support.hpp"
#include "lp/simplex.hpp"

namespace coppice::lp {

namespace {

class RateSearch {
public:
  RateSearch(const RateProblem& problem, const Progress& progress, Milliseconds budget)
      : m_problem(problem), m_progress(progress), m_budget(budget) {}

  Result<AttainableRate> run();

private:
  [[nodiscard]] bool isBalanced(std::span<const std::int64_t> capacities) const;
  /// Minimum in(Q) / (K - r(Q)) over the cuts, by Newton's method on one violated cut at a time.
  [[nodiscard]] Rational cutRate(std::span<const std::int64_t> capacities);
  /// Whether capacities / capacityScale carry rate numerator / denominator (all in the same unit).
  [[nodiscard]] std::vector<NodeSet> cutsAgainst(std::span<const std::int64_t> capacities, std::int64_t numerator,
                                                 std::int64_t denominator, bool firstOnly);
  [[nodiscard]] std::int64_t amountOutside(const NodeSet& set) const;
  Simplex buildProgram(const Rational& bound) const;
  bool addCut(Simplex& simplex, const NodeSet& set);
  Result<AttainableRate> byLinearProgram(AttainableRate answer, const Rational& bound);

  const RateProblem& m_problem;
  const Progress& m_progress;
  WorkBudget m_budget;
  std::vector<ArcEnds> m_arcs;
  std::vector<std::int64_t> m_amounts;
  std::vector<std::int64_t> m_capacities;  // bandwidth * m_unit
  std::int64_t m_unit = 1;
  std::int64_t m_total = 0;
  std::optional<CutFinder> m_cuts;
  std::set<NodeSet> m_known;
};

bool RateSearch::isBalanced(std::span<const std::int64_t> capacities) const {
  const std::vector<std::int64_t> surplus = surpluses(m_problem.nodeCount, m_arcs, capacities);
  for (int node = 0; node < m_problem.nodeCount; ++node) {
    if (!m_problem.isGpu[node] && surplus[node] != 0) {
      return false;
    }
  }
  return true;
}

std::int64_t RateSearch::amountOutside(const NodeSet& set) const {
  std::int64_t outside = 0;
  for (int node = 0; node < m_problem.nodeCount; ++node) {
    outside += set[node] ? 0 : m_amounts[node];
  }
  return outside;
}

std::vector<NodeSet> RateSearch::cutsAgainst(std::span<const std::int64_t> capacities, std::int64_t numerator,
                                             std::int64_t denominator, bool firstOnly) {
  std::vector<std::int64_t> scaled(capacities.begin(), capacities.end());
  for (std::int64_t& capacity : scaled) {
    capacity = checkedMul(capacity, denominator);
  }
  std::vector<std::int64_t> supplies = m_amounts;
  for (std::int64_t& supply : supplies) {
    supply = checkedMul(supply, numerator);
  }
  return m_cuts->violated(scaled, supplies, 0, firstOnly, m_progress);
}

Rational RateSearch::cutRate(std::span<const std::int64_t> capacities) {
  std::optional<Rational> rate;
  const auto lower = [&](const NodeSet& set) {
    const std::int64_t outside = amountOutside(set);
    if (outside > 0) {
      const Rational ratio(entering(m_arcs, capacities, set), outside);
      if (!rate || ratio < *rate) {
        rate = ratio;
        return true;
      }
    }
    return false;
  };
  for (int node = 0; node < m_problem.nodeCount; ++node) {
    if (m_problem.isGpu[node]) {
      NodeSet alone(static_cast<std::size_t>(m_problem.nodeCount), false);
      alone[node] = true;
      lower(alone);
    }
  }
  for (bool lowered = true; lowered;) {
    lowered = false;
    for (const NodeSet& set : cutsAgainst(capacities, rate->numerator(), rate->denominator(), true)) {
      lowered = lower(set) || lowered;
    }
  }
  return *rate;
}

bool RateSearch::addCut(Simplex& simplex, const NodeSet& set) {
  if (!m_known.insert(set).second) {
    return false;
  }
  Row row;
  for (int i = 0; i < static_cast<int>(m_arcs.size()); ++i) {
    if (set[m_arcs[i].head] && !set[m_arcs[i].tail]) {
      row.terms.push_back({i, 1});
    }
  }
  if (const std::int64_t outside = amountOutside(set); outside > 0) {
    row.terms.push_back({static_cast<int>(m_arcs.size()), -outside});
  }
  row.lower = 0;
  simplex.addRow(std::move(row));
  return true;
}

// Columns: c' per arc, then x. Among equal rates the preference keeps as much bandwidth as possible.
Simplex RateSearch::buildProgram(const Rational& bound) const {
  double largest = 1;
  for (const std::int64_t capacity : m_capacities) {
    largest = std::max(largest, static_cast<double>(capacity));
  }
  std::vector<Column> columns;
  for (int i = 0; i < static_cast<int>(m_arcs.size()); ++i) {
    columns.push_back({.lower = 0,
                       .upper = m_capacities[i],
                       .cost = 0,
                       .scale = largest,
                       .preference = 1e-7 * (0.9 + 0.2 * spread(i))});
  }
  columns.push_back({.lower = 0,
                     .upper = checkedMul<std::int64_t>(checkedAdd<std::int64_t>(bound.floor(), 1), 2),
                     .cost = 1,
                     .scale = largest / static_cast<double>(m_total)});
  Simplex simplex(std::move(columns));
  std::vector<std::vector<Term>> balance = balanceTerms(m_problem.nodeCount, m_arcs, 0);
  for (int node = 0; node < m_problem.nodeCount; ++node) {
    if (!m_problem.isGpu[node] && !balance[node].empty()) {
      simplex.addRow({std::move(balance[node]), 0, 0});
    }
  }
  return simplex;
}

Result<AttainableRate> RateSearch::byLinearProgram(AttainableRate answer, const Rational& bound) {
  const auto givenUp = [](const std::string& why) {
    return Error{ErrorCode::limit,
                 "the largest rate that switches without copying can carry could not be determined: " + why,
                 "balance every switch and nic (equal ingress and egress)"};
  };
  const std::size_t columns = m_arcs.size() + 1;
  if (isTooLarge(2 * static_cast<std::size_t>(m_problem.nodeCount), columns)) {
    return givenUp("the fabric is too large for the linear program");
  }
  Simplex simplex = buildProgram(bound);
  for (int node = 0; node < m_problem.nodeCount; ++node) {
    if (m_problem.isGpu[node]) {
      NodeSet alone(static_cast<std::size_t>(m_problem.nodeCount), false);
      alone[node] = true;
      addCut(simplex, alone);
    }
  }
  const int rateColumn = static_cast<int>(m_arcs.size());
  const auto stop = stopTest(m_budget, m_progress);
  int refinements = 0;
  for (;;) {
    throwIfCancelled(m_progress);
    const SimplexStatus status = simplex.solve(stop);
    throwIfCancelled(m_progress);
    if (status == SimplexStatus::stopped) {
      return givenUp("out of work");
    }
    std::vector<NodeSet> sets;
    if (status == SimplexStatus::optimal) {
      double largest = 1;
      std::vector<double> supplies(m_amounts.size());
      for (std::size_t node = 0; node < supplies.size(); ++node) {
        supplies[node] = static_cast<double>(m_amounts[node]) * simplex.value(rateColumn);
        largest = std::max(largest, supplies[node]);
      }
      for (const std::int64_t capacity : m_capacities) {
        largest = std::max(largest, static_cast<double>(capacity));
      }
      std::vector<std::int64_t> units(m_arcs.size());
      for (std::size_t i = 0; i < units.size(); ++i) {
        units[i] = toCutUnits(simplex.value(static_cast<int>(i)), largest);
      }
      std::vector<std::int64_t> supplyUnits(supplies.size());
      std::transform(supplies.begin(), supplies.end(), supplyUnits.begin(),
                     [largest](double supply) { return toCutUnits(supply, largest); });
      sets = m_cuts->violated(units, supplyUnits, kCutTolerance, false, m_progress);
      if (sets.empty()) {
        if (auto point = simplex.exactPoint(stop)) {
          const std::int64_t rate = point->numerators.back();
          point->numerators.pop_back();
          // Amounts times the rate's numerator against capacity numerators: the denominator cancels.
          sets = cutsAgainst(point->numerators, rate, 1, false);
          if (sets.empty()) {
            const auto proved = simplex.provedBound(stop);
            if (proved && checkedMul<Int128>(proved->numerator, point->denominator) ==
                              checkedMul<Int128>(proved->denominator, rate)) {
              answer.rate = Bandwidth(rate, checkedMul(point->denominator, m_unit));
              answer.bandwidths = std::move(point->numerators);
              answer.denominator = checkedMul(point->denominator, m_unit);
              answer.keepsCutBound = answer.rate == answer.cutRate;
              return answer;
            }
          }
        }
      }
    }
    bool added = false;
    for (const NodeSet& set : sets) {
      added = addCut(simplex, set) || added;
    }
    if (isTooLarge(simplex.rows().size(), columns)) {
      return givenUp("too many cuts");
    }
    if (!added) {
      // Exact arithmetic did not confirm the answer, or found nothing new to add.
      if (++refinements > kMaxRefinements || !simplex.refine(stop)) {
        throwIfCancelled(m_progress);
        return givenUp(m_budget.isSpent() ? "out of work"
                                              : "its numbers leave the range in which the result is proven exact");
      }
    }
  }
}

Result<AttainableRate> RateSearch::run() {
  m_amounts = m_problem.amounts;
  if (m_amounts.empty()) {
    m_amounts.resize(m_problem.isGpu.size());
    std::transform(m_problem.isGpu.begin(), m_problem.isGpu.end(), m_amounts.begin(),
                   [](bool gpu) { return gpu ? 1 : 0; });
  }
  for (const RateArc& arc : m_problem.arcs) {
    m_arcs.push_back({arc.tail, arc.head});
  }
  if (auto error = checkGraph(m_problem.nodeCount, m_problem.isGpu, m_arcs, m_amounts)) {
    return *std::move(error);
  }
  for (std::size_t i = 0; i < m_arcs.size(); ++i) {
    if (!m_problem.arcs[i].bandwidth.isPositive()) {
      return Error{ErrorCode::badUsage, "a bandwidth is not positive", "pass bandwidths above 0",
                   Place{.element = {RefKind::arc, i}}};
    }
    m_unit = leastCommonMultiple(m_unit, m_problem.arcs[i].bandwidth.gigabytesPerSecond().denominator());
  }
  for (const RateArc& arc : m_problem.arcs) {
    const Rational& bandwidth = arc.bandwidth.gigabytesPerSecond();
    m_capacities.push_back(checkedMul(bandwidth.numerator(), m_unit / bandwidth.denominator()));
  }
  for (const std::int64_t amount : m_amounts) {
    m_total = checkedAdd(m_total, amount);
  }
  m_cuts.emplace(m_problem.nodeCount, m_problem.isGpu, m_arcs);
  m_progress.report("balancing", 0.0);

  const Rational bound = cutRate(m_capacities);
  AttainableRate answer;
  answer.cutRate = Bandwidth(bound / Rational(m_unit));
  answer.denominator = m_unit;
  answer.wasBalanced = isBalanced(m_capacities);
  if (bound.isZero()) {
    answer.keepsCutBound = true;
    answer.bandwidths.assign(m_arcs.size(), 0);
    return answer;
  }
  if (answer.wasBalanced) {
    answer.rate = answer.cutRate;
    answer.keepsCutBound = true;
    answer.bandwidths = m_capacities;
    return answer;
  }
  auto kept = minRemoval(m_problem.nodeCount, m_problem.isGpu, m_arcs, m_capacities, m_progress);
  if (kept && isBalanced(*kept) && cutsAgainst(*kept, bound.numerator(), bound.denominator(), true).empty()) {
    answer.rate = answer.cutRate;
    answer.keepsCutBound = true;
    answer.bandwidths = *std::move(kept);
    return answer;
  }
  return byLinearProgram(std::move(answer), bound);
}

}  // namespace

Result<AttainableRate> attainableRate(const RateProblem& problem, const Progress& progress, Milliseconds budget) {
  return guarded([&] { return RateSearch(problem, progress, budget).run(); },
                 {.overflowFix = "use bandwidths with smaller numerators and denominators",
                  .memory = "out of memory while finding the attainable rate",
                  .cancelled = "cancelled while finding the attainable rate"});
}

}  // namespace coppice::lp
