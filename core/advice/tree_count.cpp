// SPDX-License-Identifier: Apache-2.0
#include "advice/tree_count.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <functional>
#include <limits>
#include <numeric>
#include <string>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/units.hpp"
#include "program/used_sizes.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::advice {
namespace {

using program::Runtime;

constexpr std::array<Runtime, 3> kRuntimes{Runtime::msccl, Runtime::mscclExecutorNccl, Runtime::rccl};
constexpr std::int64_t kAnySize = std::int64_t{1} << 40;

/// Of the program with k trees per root and any window.
program::SizeFacts factsWith(Collective collective, int ranks, std::int64_t chunks) {
  return {.collective = collective, .ranks = ranks, .chunks = chunks, .maxBytes = kAnySize};
}

bool isUsed(const program::SizeFacts& facts, const WantedSizes& sizes) {
  return std::all_of(kRuntimes.begin(), kRuntimes.end(), [&](Runtime runtime) {
    return (!sizes.powersOfTwo || program::usedSizes(facts, runtime).powersOfTwo) &&
           std::all_of(sizes.bytes.begin(), sizes.bytes.end(),
                       [&](std::int64_t bytes) { return program::isUsedAt(facts, runtime, bytes); });
  });
}

std::string listed(const WantedSizes& sizes) {
  if (sizes.powersOfTwo && sizes.bytes.empty()) {
    return "powers of two";
  }
  constexpr std::size_t kMax = 4;
  std::string text = sizes.powersOfTwo ? "powers of two" : "";
  for (std::size_t i = 0; i < sizes.bytes.size() && i < kMax; ++i) {
    text += (text.empty() ? "" : ", ") + program::byteText(sizes.bytes[i]);
  }
  return sizes.bytes.size() > kMax ? text + " and " + std::to_string(sizes.bytes.size() - kMax) + " more" : text;
}

Error noSuchK(const forestcoll::Request& request, int ranks, const WantedSizes& sizes, std::int64_t maxK) {
  const std::int64_t min = isRooted(request.collective) ? 1 : ranks;
  Error error{ErrorCode::infeasible, "no number of trees per root from 1 to " + std::to_string(maxK) +
                                         " gives a program that all runtimes use at " + listed(sizes) +
                                         ": its chunks are a multiple of " + std::to_string(min)};
  const auto used = program::usedSizes(factsWith(request.collective, ranks, min), Runtime::mscclExecutorNccl);
  error.fix = "leave --sizes out, and measure at other sizes";
  if (used.sweep) {
    error.fix += ", as nccl-tests -b " + std::to_string(used.sweep->first) + " -f 2 does for k = 1";
  }
  return error;
}

}  // namespace

Result<TreeCount> treeCountFor(const fabric::Fabric& fabric, const forestcoll::Request& request,
                               const WantedSizes& sizes, const Progress& progress) {
  if (!sizes.powersOfTwo && sizes.bytes.empty()) {
    return Error{ErrorCode::badUsage, "no size is named", "name powers of two or sizes"};
  }
  if (std::adjacent_find(request.amounts.begin(), request.amounts.end(), std::not_equal_to<>()) !=
      request.amounts.end()) {
    return Error{ErrorCode::badUsage, "programs give every rank an equal part, so sizes do not go with amounts",
                 "leave the sizes or the amounts out"};
  }
  forestcoll::Request free = withoutTreeLimits(request);
  free.allreduceBudget = {};
  const auto optimum = forestcoll::optimum(fabric, free, progress);
  if (!optimum) {
    return optimum.error();
  }
  TreeCount best;
  best.optimum = optimum->algbw;
  best.optimumK = optimum->treesPerRoot;
  best.maxK = request.maxK.value_or(best.optimumK);
  const std::int64_t perTree = isRooted(request.collective) ? 1 : fabric.gpuCount();
  // Beyond that no runtime can address the chunks.
  const std::int64_t end = std::min(best.maxK, std::numeric_limits<std::int16_t>::max() / perTree + 1);
  bool isFound = false;
  std::optional<Error> failure;
  for (std::int64_t k = 1; k <= end && !(isFound && best.algbw == best.optimum); ++k) {
    if (!isUsed(factsWith(request.collective, fabric.gpuCount(), perTree * k), sizes)) {
      continue;
    }
    free.fixedK = k;
    const auto fixed = forestcoll::optimum(fabric, free, progress);
    if (!fixed) {
      if (fixed.error().code == ErrorCode::cancelled) {
        return fixed.error();
      }
      failure = failure ? failure : fixed.error();
      continue;
    }
    if (!isFound || fixed->algbw > best.algbw) {
      isFound = true;
      best.k = k;
      best.algbw = fixed->algbw;
    }
  }
  if (!isFound) {
    return failure ? *failure : noSuchK(request, fabric.gpuCount(), sizes, end);
  }
  try {
    best.loss = Rational(1) - best.algbw / best.optimum;
  } catch (const OverflowError& error) {
    return Error{ErrorCode::overflow, error.what()};
  }
  return best;
}

std::string lossText(const Rational& loss) {
  if (loss.isZero()) {
    return "nothing";
  }
  const Rational percents = loss * Rational(100);
  std::string decimal = toDecimal(percents);
  if (decimal == "0") {
    std::array<char, 32> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.2g", percents.toDouble());
    decimal = buffer.data();
  }
  return loss.toString() + " = " + decimal + " %";
}

Result<std::int64_t> programChunks(const schedule::Schedule& schedule) {
  return guarded(
      [&]() -> Result<std::int64_t> {
        // As the lowering counts: one chunk for each tree, and both halves of an allreduce in the same chunks.
        std::int64_t chunks = 0;
        for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
          if (*forest) {
            const std::int64_t trees = (*forest)->treeCount();
            if (trees < 1) {
              return Error{ErrorCode::badInput, "the schedule has no trees"};
            }
            chunks = chunks == 0 ? trees : leastCommonMultiple(chunks, trees);
          }
        }
        std::int64_t divisor = 0;
        for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
          if (!*forest) {
            continue;
          }
          const std::int64_t factor = chunks / (*forest)->treeCount();
          const schedule::TreeReader reader(**forest);
          for (std::int64_t tree = 0; tree < reader.size() && divisor != 1; ++tree) {
            divisor = std::gcd(divisor, checkedMul(factor, reader.head(tree).multiplicity));
          }
        }
        if (divisor == 0) {
          return Error{ErrorCode::badInput, "the schedule has no trees"};
        }
        return chunks / divisor;
      },
      {.overflowFix = {}});
}

Result<std::optional<SizeSetting>> settingForPowersOfTwo(const fabric::Fabric& fabric,
                                                         const schedule::Schedule& schedule, int instances,
                                                         const Progress& progress) {
  const auto chunks = programChunks(schedule);
  if (!chunks) {
    return chunks.error();
  }
  const WantedSizes powers{.powersOfTwo = true};
  const auto isUsedWith = [&](int copies) {
    return *chunks <= std::numeric_limits<std::int64_t>::max() / copies &&
           isUsed(factsWith(schedule.collective, fabric.gpuCount(), *chunks * copies), powers);
  };
  if (isUsedWith(instances)) {
    return std::optional<SizeSetting>();
  }
  SizeSetting setting;
  setting.instances = static_cast<int>(std::bit_floor(static_cast<unsigned>(instances)));
  if (isUsedWith(setting.instances)) {
    return std::optional<SizeSetting>(setting);
  }
  forestcoll::Request request;
  request.collective = schedule.collective;
  request.root = schedule.root;
  request.amounts = schedule.amounts;
  auto trees = treeCountFor(fabric, request, powers, progress);
  if (!trees) {
    if (trees.error().code == ErrorCode::infeasible) {
      return std::optional<SizeSetting>();
    }
    return trees.error();
  }
  try {
    setting.price = Rational(1) - trees->algbw / schedule.algbw;
  } catch (const OverflowError& error) {
    return Error{ErrorCode::overflow, error.what()};
  }
  setting.trees = *trees;
  return std::optional<SizeSetting>(setting);
}

}  // namespace coppice::advice
