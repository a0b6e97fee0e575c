// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/checked.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "lp/cut_finder.hpp"
#include "lp/simplex.hpp"
#include "lp/work_limit.hpp"

/// What the three programs over cuts share.
namespace coppice::lp {

/// Numbers of a program that a core touches in a millisecond, about.
constexpr std::int64_t kNumbersPerMillisecond = 2'400'000;

/// How much work a search may do before it gives up. Counted, so that it ends at the same place on every machine.
class WorkBudget {
public:
  explicit WorkBudget(Milliseconds budget) : m_left(Int128{kNumbersPerMillisecond} * budget.count()) {}

  void spend(std::size_t numbers) { m_left -= static_cast<std::int64_t>(numbers); }
  [[nodiscard]] bool isSpent() const { return m_left <= 0; }
  [[nodiscard]] Int128 left() const { return m_left; }

private:
  Int128 m_left;  ///< numbers
};

/// Takes the work that it hears of from the budget. True when that is spent, or on cancellation.
[[nodiscard]] StopTest stopTest(WorkBudget& budget, const Progress& progress);

/// Largest dictionary (rows x columns) that the dense simplex is started on: memory, and time per pivot.
constexpr std::size_t kLargestDictionary = 32'000'000;
[[nodiscard]] constexpr bool isTooLarge(std::size_t rows, std::size_t columns) {
  return columns > 0 && rows > kLargestDictionary / columns;
}

/// How often one program may call Simplex::refine(); each gains about nine digits.
constexpr int kMaxRefinements = 8;

/// Floating-point capacities become integers of this many units per largest capacity for the cut search; cuts violated
/// by less than kCutTolerance units wait for the exact search.
constexpr double kCutUnits = 1099511627776.0;
constexpr std::int64_t kCutTolerance = 1 << 17;

/// value / largest in units of 1 / kCutUnits, at least 0.
[[nodiscard]] std::int64_t toCutUnits(double value, double largest);

/// What BalanceProblem and RateProblem must satisfy; nullopt when they do.
std::optional<Error> checkGraph(int nodeCount, const std::vector<bool>& isGpu, const std::vector<ArcEnds>& arcs,
                                const std::vector<std::int64_t>& supplies);

/// A small fixed number in [0, 1) per index, to tell equal columns apart (the same in every run).
[[nodiscard]] double spread(int index);

/// For every node: the terms of its ingress minus egress, column = firstColumn + arc index.
[[nodiscard]] std::vector<std::vector<Term>> balanceTerms(int nodeCount, const std::vector<ArcEnds>& arcs,
                                                          int firstColumn);

}  // namespace coppice::lp
