// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "schedule/forest.hpp"

/// Numbers of trees whose programs are used at the sizes that are wanted. A program has a chunk for each tree, and
/// runtimes take it only for calls that the chunks divide (program/used_sizes.hpp).
namespace coppice::advice {

/// Sizes of the whole collective in bytes, as nccl-tests takes and rounds them for float32.
struct WantedSizes {
  bool powersOfTwo = false;              ///< all powers of two that hold an element for each chunk
  std::vector<std::int64_t> bytes = {};  ///< each of these
};

/// The best number of trees per root under such a condition.
struct TreeCount {
  std::int64_t k = 1;
  std::int64_t maxK = 1;      ///< 1 to this were looked at
  Bandwidth algbw;            ///< with this k
  Bandwidth optimum;          ///< with any k
  std::int64_t optimumK = 1;  ///< the smallest k that reaches it
  Rational loss;              ///< the part of the optimum that this k gives up; 0 = none
};

/// The k with the largest exact throughput, the smallest on a tie, among those whose programs every runtime uses at the
/// wanted sizes. No k above request.maxK is looked at, or else above that of the optimum, so that the program grows no
/// larger than the optimum's. request.fixedK and maxLoss do not count.
/// Errors: infeasible (no such k; the fix names sizes that work), badUsage (no size is wanted; amounts, which no
/// program can have), and those of forestcoll::optimum.
[[nodiscard]] Result<TreeCount> treeCountFor(const fabric::Fabric& fabric, const forestcoll::Request& request,
                                             const WantedSizes& sizes, const Progress& progress = {});

/// "1/481 = 0.21 %", "nothing".
[[nodiscard]] std::string lossText(const Rational& loss);

/// nchunksperloop of the schedule's program with one instance. Errors: overflow, badInput (no trees).
[[nodiscard]] Result<std::int64_t> programChunks(const schedule::Schedule& schedule);

/// What makes the program of a schedule one that is used at powers of two.
struct SizeSetting {
  std::optional<TreeCount> trees = {};  ///< generate again with this many trees; absent = the trees are right
  int instances = 1;
  /// The part of the schedule's own throughput that this gives up; below 0 where it is even faster.
  Rational price;
};

/// nullopt: it is used at powers of two already, or no setting would do. Errors: as treeCountFor, without infeasible.
[[nodiscard]] Result<std::optional<SizeSetting>> settingForPowersOfTwo(const fabric::Fabric& fabric,
                                                                       const schedule::Schedule& schedule,
                                                                       int instances, const Progress& progress = {});

}  // namespace coppice::advice
