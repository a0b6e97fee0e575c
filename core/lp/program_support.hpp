// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "lp/cut_finder.hpp"
#include "lp/simplex.hpp"

/// What the three programs over cuts share.
namespace coppice::lp {

/// A point in time after which work gives up.
class Deadline {
public:
  explicit Deadline(std::chrono::milliseconds budget) : m_end(std::chrono::steady_clock::now() + budget) {}

  [[nodiscard]] bool hasPassed() const { return std::chrono::steady_clock::now() >= m_end; }
  [[nodiscard]] std::chrono::milliseconds left() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(m_end - std::chrono::steady_clock::now());
  }

private:
  std::chrono::steady_clock::time_point m_end;
};

/// True at the deadline or on cancellation.
[[nodiscard]] StopTest stopTest(const Deadline& deadline, const Progress& progress);

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
