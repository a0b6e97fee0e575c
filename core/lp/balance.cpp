// SPDX-License-Identifier: Apache-2.0
#include "lp/balance.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <set>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "lp/cut_finder.hpp"
#include "lp/integer_program.hpp"
#include "lp/min_removal.hpp"
#include "lp/program_support.hpp"
#include "lp/simplex.hpp"

namespace coppice::lp {

namespace {

constexpr std::int64_t kLargestWeight = 1'000'000;
/// Cheap enough always; beyond it the remaining work goes to Z3.
constexpr int kMaxBranches = 4000;
constexpr int kMaxBranchesWithZ3 = 400;

class BalanceSearch {
public:
  BalanceSearch(const BalanceProblem& problem, const Progress& progress, Milliseconds budget)
      : m_problem(problem), m_progress(progress), m_budget(budget) {
    for (const CapacityArc& arc : problem.arcs) {
      m_arcs.push_back({arc.tail, arc.head});
      m_capacities.push_back(arc.capacity);
    }
  }

  Result<SubCapacity> run();

private:
  enum class NodeOutcome { found, closed, fractional, stuck };

  [[nodiscard]] bool isBalanced(std::span<const std::int64_t> capacities) const;
  [[nodiscard]] SubCapacity foundAnswer(std::vector<std::int64_t> capacities, bool min, std::string reason) const;
  void buildProgram();
  bool addCut(const NodeSet& set);
  /// Cuts that the floating-point solution violates by more than its errors.
  [[nodiscard]] std::vector<NodeSet> violatedNearly();
  /// Solves at the present bounds, adding cuts until none is violated; leaves the exact solution in m_point.
  NodeOutcome solveNode();
  /// The linear program's proved bound leaves no room for an integer above the worth of `kept`.
  [[nodiscard]] bool isProvedBest(const std::vector<std::int64_t>& kept);
  [[nodiscard]] int branchColumn() const;
  SubCapacity branch();
  std::optional<SubCapacity> byIntegerProgram();

  const BalanceProblem& m_problem;
  const Progress& m_progress;
  WorkBudget m_budget;
  std::vector<ArcEnds> m_arcs;
  std::vector<std::int64_t> m_capacities;
  std::vector<std::int64_t> m_weights;
  std::int64_t m_total = 0;
  double m_largest = 1;
  std::optional<CutFinder> m_cuts;
  std::optional<Simplex> m_simplex;
  std::set<NodeSet> m_known;
  ExactPoint m_point;  // where the last solveNode() ended
};

bool BalanceSearch::isBalanced(std::span<const std::int64_t> capacities) const {
  const std::vector<std::int64_t> surplus = surpluses(m_problem.nodeCount, m_arcs, capacities);
  for (int node = 0; node < m_problem.nodeCount; ++node) {
    if (!m_problem.isGpu[node] && surplus[node] != 0) {
      return false;
    }
  }
  return true;
}

SubCapacity BalanceSearch::foundAnswer(std::vector<std::int64_t> capacities, bool min, std::string reason) const {
  SubCapacity answer;
  answer.status = BalanceStatus::found;
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    answer.removed += m_capacities[i] - capacities[i];
  }
  answer.capacities = std::move(capacities);
  answer.minRemoved = min;
  answer.reason = std::move(reason);
  return answer;
}

bool BalanceSearch::addCut(const NodeSet& set) {
  if (!m_known.insert(set).second) {
    return false;
  }
  Row row;
  std::int64_t inside = 0;
  for (int node = 0; node < m_problem.nodeCount; ++node) {
    inside += set[node] ? m_problem.supplies[node] : 0;
  }
  for (int i = 0; i < static_cast<int>(m_arcs.size()); ++i) {
    if (set[m_arcs[i].head] && !set[m_arcs[i].tail]) {
      row.terms.push_back({i, 1});
    }
  }
  row.lower = m_total - inside;
  m_simplex->addRow(std::move(row));
  return true;
}

void BalanceSearch::buildProgram() {
  std::vector<Column> columns;
  for (int i = 0; i < static_cast<int>(m_arcs.size()); ++i) {
    columns.push_back({.lower = 0,
                       .upper = m_capacities[i],
                       .cost = m_weights[i],
                       .scale = m_largest,
                       .preference = (m_weights[i] < 0 ? -1e-7 : 1e-7) * (0.5 + spread(i))});
  }
  m_simplex.emplace(std::move(columns));
  std::vector<std::vector<Term>> balance = balanceTerms(m_problem.nodeCount, m_arcs, 0);
  for (int node = 0; node < m_problem.nodeCount; ++node) {
    if (!m_problem.isGpu[node] && !balance[node].empty()) {
      m_simplex->addRow({std::move(balance[node]), 0, 0});
    }
  }
  for (int node = 0; node < m_problem.nodeCount; ++node) {
    if (m_problem.isGpu[node]) {
      NodeSet alone(static_cast<std::size_t>(m_problem.nodeCount), false);
      alone[node] = true;
      addCut(alone);
    }
  }
}

std::vector<NodeSet> BalanceSearch::violatedNearly() {
  std::vector<std::int64_t> units(m_arcs.size());
  for (std::size_t i = 0; i < units.size(); ++i) {
    units[i] = toCutUnits(m_simplex->value(static_cast<int>(i)), m_largest);
  }
  std::vector<std::int64_t> supplies(m_problem.supplies.size());
  for (std::size_t node = 0; node < supplies.size(); ++node) {
    supplies[node] = toCutUnits(static_cast<double>(m_problem.supplies[node]), m_largest);
  }
  return m_cuts->violated(units, supplies, kCutTolerance, false, m_progress);
}

BalanceSearch::NodeOutcome BalanceSearch::solveNode() {
  const auto stop = stopTest(m_budget, m_progress);
  int refinements = 0;
  for (;;) {
    throwIfCancelled(m_progress);
    const SimplexStatus status = m_simplex->solve(stop);
    if (status == SimplexStatus::stopped) {
      return NodeOutcome::stuck;
    }
    if (status == SimplexStatus::infeasible) {
      if (m_simplex->infeasibilityProved()) {
        return NodeOutcome::closed;
      }
      if (++refinements > kMaxRefinements || !m_simplex->refine(stop)) {
        return NodeOutcome::stuck;
      }
      continue;
    }
    std::vector<NodeSet> sets = violatedNearly();
    if (sets.empty()) {
      if (auto point = m_simplex->exactPoint(stop)) {
        m_point = *std::move(point);
        if (m_point.denominator > 1) {
          return NodeOutcome::fractional;
        }
        sets = m_cuts->violated(m_point.numerators, m_problem.supplies, 0, false, m_progress);
        if (sets.empty()) {
          return NodeOutcome::found;
        }
      }
    }
    bool added = false;
    for (const NodeSet& set : sets) {
      added = addCut(set) || added;
    }
    if (isTooLarge(m_simplex->rows().size(), m_arcs.size())) {
      return NodeOutcome::stuck;
    }
    if (!added) {
      // The simplex holds a point that its own rows exclude by less than its tolerance.
      if (++refinements > kMaxRefinements || !m_simplex->refine(stop)) {
        return NodeOutcome::stuck;
      }
    }
  }
}

bool BalanceSearch::isProvedBest(const std::vector<std::int64_t>& kept) {
  Int128 worth = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    worth += static_cast<Int128>(m_weights[i]) * kept[i];
  }
  const auto bound = m_simplex->provedBound(stopTest(m_budget, m_progress));
  return bound && bound->numerator < checkedMul<Int128>(worth + 1, bound->denominator);
}

// The fractional column nearest to an integer.
int BalanceSearch::branchColumn() const {
  int best = 0;
  std::int64_t bestDistance = m_point.denominator;
  for (int i = 0; i < static_cast<int>(m_arcs.size()); ++i) {
    const std::int64_t rest = m_point.numerators[i] % m_point.denominator;
    const std::int64_t distance = std::min(rest, m_point.denominator - rest);
    if (rest != 0 && distance < bestDistance) {
      bestDistance = distance;
      best = i;
    }
  }
  return best;
}

// Depth first, the nearer integer first. Every closed branch has an exact Farkas proof, so running out of branches
// proves that nothing exists.
SubCapacity BalanceSearch::branch() {
  struct Frame {
    int column = 0;
    std::int64_t lower = 0;
    std::int64_t upper = 0;
    std::int64_t otherLower = 0;
    std::int64_t otherUpper = 0;
    bool second = false;
  };
  std::vector<Frame> frames;
  bool allProved = true;
  const int limit = hasIntegerProgram() ? kMaxBranchesWithZ3 : kMaxBranches;
  for (int branches = 0; branches < limit; ++branches) {
    const NodeOutcome outcome = solveNode();
    throwIfCancelled(m_progress);
    if (outcome == NodeOutcome::found) {
      const bool min = frames.empty() && isProvedBest(m_point.numerators);
      return foundAnswer(m_point.numerators, min, frames.empty() ? "linear program" : "linear program, branching");
    }
    if (outcome == NodeOutcome::stuck && m_budget.isSpent()) {
      return {.reason = "out of work in the linear program"};
    }
    if (outcome == NodeOutcome::fractional) {
      const int column = branchColumn();
      const Column& range = m_simplex->columns()[column];
      const std::int64_t below = m_point.numerators[column] / m_point.denominator;
      const bool down = 2 * (m_point.numerators[column] % m_point.denominator) <= m_point.denominator;
      const Frame frame{column, range.lower, range.upper, down ? below + 1 : range.lower, down ? range.upper : below,
                        false};
      frames.push_back(frame);
      m_simplex->setBounds(column, down ? frame.lower : below + 1, down ? below : frame.upper);
      continue;
    }
    allProved = allProved && outcome == NodeOutcome::closed;
    while (!frames.empty() && frames.back().second) {
      m_simplex->setBounds(frames.back().column, frames.back().lower, frames.back().upper);
      frames.pop_back();
    }
    if (frames.empty()) {
      if (allProved) {
        return {.status = BalanceStatus::impossible,
                .reason = branches == 0 ? "the linear program over the cuts has no solution"
                                        : "every branch of the integer program is closed"};
      }
      return {.reason = "rounding errors left a branch of the integer program open"};
    }
    Frame& frame = frames.back();
    frame.second = true;
    m_simplex->setBounds(frame.column, frame.otherLower, frame.otherUpper);
  }
  return {.reason = "too many branches in the integer program"};
}

std::optional<SubCapacity> BalanceSearch::byIntegerProgram() {
  if (!hasIntegerProgram()) {
    return std::nullopt;
  }
  std::vector<Column> columns = m_simplex->columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].lower = 0;
    columns[i].upper = m_capacities[i];
  }
  while (!m_budget.isSpent()) {
    const IntegerAnswer answer = solveInteger(columns, m_simplex->rows(), m_budget, m_progress);
    if (answer.status == IntegerStatus::impossible) {
      return SubCapacity{.status = BalanceStatus::impossible, .reason = answer.reason};
    }
    if (answer.status == IntegerStatus::undecided) {
      return SubCapacity{.reason = answer.reason};
    }
    const std::vector<NodeSet> sets = m_cuts->violated(answer.values, m_problem.supplies, 0, false, m_progress);
    if (sets.empty() && isBalanced(answer.values)) {
      return foundAnswer(answer.values, false, answer.reason);
    }
    bool added = false;
    for (const NodeSet& set : sets) {
      added = addCut(set) || added;
    }
    if (!added) {
      return SubCapacity{.reason = "Z3 broke a cut that it was given"};
    }
  }
  return SubCapacity{.reason = "out of work in the integer program"};
}

Result<SubCapacity> BalanceSearch::run() {
  if (auto error = checkGraph(m_problem.nodeCount, m_problem.isGpu, m_arcs, m_problem.supplies)) {
    return *std::move(error);
  }
  for (std::size_t i = 0; i < m_capacities.size(); ++i) {
    if (m_capacities[i] < 0) {
      return Error{ErrorCode::badUsage, "a capacity is negative", "pass capacities of at least 0",
                   Place{.element = {RefKind::arc, i}}};
    }
    m_largest = std::max(m_largest, static_cast<double>(m_capacities[i]));
  }
  m_weights = m_problem.weights;
  if (m_weights.empty()) {
    m_weights.assign(m_arcs.size(), 1);
  }
  if (m_weights.size() != m_arcs.size() || std::any_of(m_weights.begin(), m_weights.end(), [](std::int64_t weight) {
        return weight > kLargestWeight || weight < -kLargestWeight;
      })) {
    return Error{ErrorCode::badUsage, "the weights are not one per arc within a million",
                 "pass one weight per arc, or none"};
  }
  for (const std::int64_t supply : m_problem.supplies) {
    m_total = checkedAdd(m_total, supply);
  }
  m_largest = std::max(m_largest, static_cast<double>(m_total));
  m_cuts.emplace(m_problem.nodeCount, m_problem.isGpu, m_arcs);
  m_progress.report("balancing", 0.0);
  if (!m_cuts->violated(m_capacities, m_problem.supplies, 0, true, m_progress).empty()) {
    return SubCapacity{.status = BalanceStatus::impossible, .reason = "the full capacities already break a cut"};
  }
  // Where everything kept is worth the same, two exact shortcuts spare the linear program.
  if (m_problem.weights.empty()) {
    if (isBalanced(m_capacities)) {
      return foundAnswer(m_capacities, true, "already balanced");
    }
    auto kept = minRemoval(m_problem.nodeCount, m_problem.isGpu, m_arcs, m_capacities, m_progress);
    if (kept && isBalanced(*kept) && m_cuts->violated(*kept, m_problem.supplies, 0, true, m_progress).empty()) {
      return foundAnswer(*std::move(kept), true, "least removal");
    }
  }
  if (isTooLarge(2 * static_cast<std::size_t>(m_problem.nodeCount), m_arcs.size())) {
    return SubCapacity{.reason = "too large for the linear program"};
  }
  buildProgram();
  SubCapacity answer = branch();
  if (answer.status == BalanceStatus::undecided && !m_budget.isSpent()) {
    if (auto other = byIntegerProgram()) {
      return *std::move(other);
    }
  }
  return answer;
}

}  // namespace

Result<SubCapacity> balancedSubCapacity(const BalanceProblem& problem, const Progress& progress, Milliseconds budget) {
  return guarded([&] { return BalanceSearch(problem, progress, budget).run(); },
                 {.overflowFix = "use smaller capacities or a smaller k",
                  .memory = "out of memory while balancing the capacities",
                  .cancelled = "cancelled while balancing the capacities"});
}

}  // namespace coppice::lp
