// SPDX-License-Identifier: Apache-2.0
#include "lp/program_support.hpp"

#include <algorithm>
#include <cmath>

namespace coppice::lp {

namespace {

Error badProblem(std::string message, const ElementRef& element) {
  return Error{ErrorCode::badUsage, std::move(message), "pass a well-formed capacity problem", {.element = element}};
}

}  // namespace

StopTest stopTest(WorkBudget& budget, const Progress& progress) {
  return [&budget, &progress](std::size_t numbers) {
    budget.spend(numbers);
    return budget.isSpent() || progress.isCancelled();
  };
}

std::int64_t toCutUnits(double value, double largest) {
  return std::max<std::int64_t>(0, std::llround(value / largest * kCutUnits));
}

std::optional<Error> checkGraph(int nodeCount, const std::vector<bool>& isGpu, const std::vector<ArcEnds>& arcs,
                                const std::vector<std::int64_t>& supplies) {
  if (nodeCount < 1 || isGpu.size() != static_cast<std::size_t>(nodeCount) ||
      supplies.size() != static_cast<std::size_t>(nodeCount)) {
    return badProblem("the lists of GPUs and supplies do not have one entry per node", {RefKind::field, "nodes"});
  }
  if (std::count(isGpu.begin(), isGpu.end(), true) < 2) {
    return badProblem("fewer than two GPUs", {RefKind::field, "nodes"});
  }
  bool some = false;
  for (int node = 0; node < nodeCount; ++node) {
    const std::int64_t supply = supplies[node];
    if (supply < 0 || (supply > 0 && !isGpu[node])) {
      return badProblem("a supply is negative or belongs to a relay", {RefKind::node, node});
    }
    some = some || supply > 0;
  }
  if (!some) {
    return badProblem("all supplies are zero", {RefKind::field, "nodes"});
  }
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    const auto [tail, head] = arcs[i];
    if (tail < 0 || head < 0 || tail >= nodeCount || head >= nodeCount || tail == head) {
      return badProblem("an arc has an end out of range or is a self-loop", {RefKind::arc, i});
    }
  }
  return std::nullopt;
}

double spread(int index) {
  // Multiples of the golden ratio, modulo 1.
  const double product = 0.6180339887498949 * (index + 1);
  return product - std::floor(product);
}

std::vector<std::vector<Term>> balanceTerms(int nodeCount, const std::vector<ArcEnds>& arcs, int firstColumn) {
  std::vector<std::vector<Term>> terms(nodeCount);
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    const int column = firstColumn + static_cast<int>(i);
    terms[arcs[i].head].push_back({column, 1});
    terms[arcs[i].tail].push_back({column, -1});
  }
  return terms;
}

}  // namespace coppice::lp
