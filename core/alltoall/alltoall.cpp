// SPDX-License-Identifier: Apache-2.0
#include "alltoall/alltoall.hpp"

#include <algorithm>
#include <string>

#include "alltoall/network.hpp"
#include "alltoall/program.hpp"
#include "alltoall/symmetry.hpp"
#include "base/failure.hpp"

namespace coppice::alltoall {
namespace {

/// Nodes of all listed symmetries together, at most.
constexpr std::size_t kMaxImages = std::size_t{1} << 24;
/// A routing without an exact form has so few parts, beside uneven amounts, that their product is below this.
constexpr std::int64_t kMostDigits = std::int64_t{1} << 44;
constexpr std::int64_t kFewestParts = std::int64_t{1} << 12;

Result<Optimum> solve(const fabric::Fabric& fabric, const Request& request, const Progress& progress) {
  const Network network(fabric, request.demand);
  const auto nodes = static_cast<std::size_t>(network.nodeCount());
  // A regular group of all GPUs is always wanted; larger ones only where they are small.
  const std::size_t wanted = std::max(request.maxSymmetries, static_cast<std::size_t>(fabric.gpuCount()));
  const std::size_t max =
      request.maxSymmetries <= 1 ? 1 : std::max<std::size_t>(1, std::min(wanted, kMaxImages / nodes));
  const SymmetryGroup group = findSymmetries(network, max, progress);
  Program program(network, group, progress);
  program.run(request.budget);
  Optimum optimum;
  optimum.gpuCount = fabric.gpuCount();
  optimum.demand = request.demand;
  optimum.arcOrbits = group.arcOrbits;
  optimum.rows = program.rowCount();
  optimum.lengths = program.lengths();
  optimum.routing = program.routing();
  if (request.parts) {
    optimum.routing = inParts(optimum.routing, *request.parts);
  } else if (!program.isExact()) {
    // Amounts take up digits as well.
    const Int128 total =
        Int128{1} + (meanBuffer(request.demand, fabric.gpuCount()) * Rational(fabric.gpuCount())).numerator();
    const auto parts = static_cast<std::int64_t>(std::max<Int128>(kFewestParts, kMostDigits / total));
    if (!request.demand.isEven() && parts < optimum.routing.denominator) {
      optimum.routing = inParts(optimum.routing, parts);
    }
  }
  const auto known = program.upper();
  const auto upper = known ? Result<Bandwidth>(*known) : boundOf(fabric, request.demand, optimum.lengths);
  if (!upper) {
    return upper.error();
  }
  const auto lower = rateOf(fabric, request.demand, optimum.routing);
  if (!lower) {
    return lower.error();
  }
  optimum.upper = *upper;
  optimum.lower = *lower;
  return optimum;
}

std::optional<Error> checkAmounts(const std::vector<std::int64_t>& amounts, int gpuCount) {
  if (amounts.empty()) {
    return std::nullopt;
  }
  const auto count = static_cast<std::size_t>(gpuCount);
  if (amounts.size() != count * count) {
    return Error{ErrorCode::badUsage,
                 std::to_string(amounts.size()) + " amounts are given for " + std::to_string(gpuCount) + " GPUs",
                 "give one for each pair of ranks, " + std::to_string(count * count) + " in all"};
  }
  bool isAny = false;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    if (amounts[i] < 0) {
      return Error{ErrorCode::badUsage, "An amount is negative"};
    }
    isAny = isAny || (amounts[i] > 0 && i / count != i % count);
  }
  return isAny
             ? std::nullopt
             : std::optional(Error{ErrorCode::badUsage, "no GPU sends anything to another", "give a positive amount"});
}

}  // namespace

Result<Optimum> optimum(const fabric::Fabric& fabric, const Request& request, const Progress& progress) {
  if (request.parts && *request.parts < 1) {
    return Error{ErrorCode::badUsage, "The number of parts is below 1", "give 1 or more parts"};
  }
  if (auto error = checkAmounts(request.demand.amounts, fabric.gpuCount())) {
    return *std::move(error);
  }
  return guarded([&] { return solve(fabric, request, progress); },
                 {.overflow = "The loads of an all-to-all leave the 64-bit range",
                  .overflowFix = "use bandwidths with a simple ratio"});
}

Bandwidth algbwOf(const schedule::ExchangeDemand& demand, const Bandwidth& rate, int gpuCount) {
  const Rational buffer = meanBuffer(demand, gpuCount);
  try {
    return rate * buffer;
  } catch (const OverflowError&) {
    constexpr std::int64_t kParts = 1'000'000;
    const Rational& each = rate.gigabytesPerSecond();
    const Int128 whole = checkedMul<Int128>(checkedMul<Int128>(each.numerator(), buffer.numerator()), kParts);
    const Int128 by = checkedMul<Int128>(each.denominator(), buffer.denominator());
    return Bandwidth(Rational(narrow64(whole / by), kParts));
  }
}

Rational meanBuffer(const schedule::ExchangeDemand& demand, int gpuCount) {
  if (demand.isEven()) {
    return Rational(gpuCount);
  }
  std::int64_t sum = 0;
  for (const std::int64_t amount : demand.amounts) {
    sum = checkedAdd(sum, amount);
  }
  return Rational(sum, gpuCount);
}

}  // namespace coppice::alltoall
