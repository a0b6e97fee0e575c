// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "lowering/lowering.hpp"
#include "lowering/plan.hpp"

/// Internal to core/lowering: several arrangements of the steps of a program, and the best of them.
namespace coppice::lowering {

/// Threadblocks of one rank that leave most of a GPU for computing.
inline constexpr int kComfortableBlocks = 64;

struct Trial {
  bool hasSmallParts = false;
  Style style;
};

/// An arrangement in one instance, and how to make the program of it: that of all instances.
struct Arranged {
  program::Program single;
  std::function<program::Program(program::Program single)> finish;
};
/// Absent where the trial does not apply.
using Arranger = std::function<std::optional<Result<Arranged>>(const Trial&)>;

/// Keeps the arrangement that keeps up with the links best; the first that does so fully ends the search. Of large
/// programs fewer are tried, of the largest only the first that fits. Every arrangement that counts has been proven
/// free of deadlock.
/// @param trials in order of preference  @param frugal number of the first ones; what fits in none of these does not
/// fit
/// @param needed time per iteration at the schedule's bandwidth; 0 = unknown
[[nodiscard]] Result<program::Program> arrange(std::span<const Trial> trials, std::size_t frugal, std::int64_t needed,
                                               const Arranger& arranger, const Progress& progress);

/// One iteration of that number of chunks at the schedule's bandwidth, in units of one chunk through one threadblock.
[[nodiscard]] std::int64_t timePerIteration(std::int64_t chunks, const Bandwidth& algbw, const Options& options);

/// Chunks of the small parts of trials: a step passes data on when it has all of it.
[[nodiscard]] int smallPart(std::int64_t timePerIteration);

}  // namespace coppice::lowering
