// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "lp/work_limit.hpp"
#include "schedule/exchange.hpp"
#include "schedule/step_schedule.hpp"

/// All-to-all: the largest rate at which every GPU can send to every other at once (maximum concurrent flow), the same
/// to each or in given proportions, with the lengths that bound it and the routing that reaches it.
namespace coppice::alltoall {

struct Request {
  schedule::ExchangeDemand demand = {};
  /// Work after which the search for better lengths ends; what is found by then is exact, as bounds. The search for
  /// symmetries is not counted, and small programs get a second's at least.
  lp::Milliseconds budget = lp::Milliseconds(8000);
  /// Symmetries to list, at most; 1 = none.
  std::size_t maxSymmetries = 2048;
  /// The routing in this many equal parts of what a GPU sends, for programs with few chunks; absent = unrounded.
  std::optional<std::int64_t> parts = {};
};

struct Optimum {
  int gpuCount = 0;
  schedule::ExchangeDemand demand;
  Bandwidth lower;  ///< per unit of what a pair exchanges: the routing reaches it
  Bandwidth upper;  ///< the lengths prove that nothing is faster
  schedule::ExchangeRouting routing;
  schedule::ExchangeLengths lengths;
  int arcOrbits = 0;      ///< classes of links in the linear program
  std::int64_t rows = 0;  ///< routings that it has seen
  [[nodiscard]] bool isExact() const { return lower == upper; }
};

/// The dual linear program over lengths that are equal on equivalent links, by cutting planes: each shortest path tree
/// from one GPU of every orbit is a row. Solved exactly, its optimum is that of the fabric, and the mixture of trees
/// that supports it is an optimal routing. Where the program is too large, or the budget ends, `lower` and `upper` are
/// what the best mixture and the best lengths give. Both are computed in whole numbers.
/// Errors: badUsage (parts below 1, amounts of the wrong number, negative or all 0, a GPU that is reached through
/// others alone where they may not relay), overflow, cancelled.
Result<Optimum> optimum(const fabric::Fabric& fabric, const Request& request = {}, const Progress& progress = {});

/// The weights of every source rounded to that many parts, by largest remainders. @pre parts >= 1
[[nodiscard]] schedule::ExchangeRouting inParts(const schedule::ExchangeRouting& routing, std::int64_t parts);

inline constexpr std::int64_t kMaxTransfers = std::int64_t{1} << 26;

/// The routing as a schedule without steps: what a pair exchanges is cut into a piece for each of its paths, and GPUs
/// on the way pass it on. Its algbw is meanBuffer() times the rate of the routing. Not verified here. Errors: limit
/// (more than maxTransfers), overflow, cancelled.
Result<schedule::StepSchedule> scheduleOf(const fabric::Fabric& fabric, const schedule::ExchangeDemand& demand,
                                          const schedule::ExchangeRouting& routing,
                                          std::int64_t maxTransfers = kMaxTransfers, const Progress& progress = {});

/// What a rank's buffer has on average, in units of the amounts, with what stays at the rank: M of the collective is
/// that times the unit. N where all pairs exchange 1.
[[nodiscard]] Rational meanBuffer(const schedule::ExchangeDemand& demand, int gpuCount);
/// That times the rate: the algbw. Exact, or, beyond 64 bits, down to the next kB/s. Throws OverflowError where that is
/// beyond 64 bits, too.
[[nodiscard]] Bandwidth algbwOf(const schedule::ExchangeDemand& demand, const Bandwidth& rate, int gpuCount);

/// sum of b_e l_e / sum of amounts times distances, GB/s. Errors: badUsage (as many lengths as arcs; all distances 0),
/// overflow.
Result<Bandwidth> boundOf(const fabric::Fabric& fabric, const schedule::ExchangeDemand& demand,
                          const schedule::ExchangeLengths& lengths);
/// The minimum b_e / load_e, GB/s, for the amounts as bytes. Errors: overflow.
Result<Bandwidth> rateOf(const fabric::Fabric& fabric, const schedule::ExchangeDemand& demand,
                         const schedule::ExchangeRouting& routing);
/// By arc: what the routing puts on it, in units of the amounts. Errors: overflow.
Result<std::vector<Rational>> loadsOf(const fabric::Fabric& fabric, const schedule::ExchangeDemand& demand,
                                      const schedule::ExchangeRouting& routing);

}  // namespace coppice::alltoall
