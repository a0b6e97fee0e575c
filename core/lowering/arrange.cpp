// SPDX-License-Identifier: Apache-2.0
#include "lowering/arrange.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "lowering/emit.hpp"

namespace coppice::lowering {

namespace {

/// Chunk movements, per iteration and over all trials, beyond which the best arrangement so far has to do.
constexpr std::int64_t kTrialChunks = 4'000'000;
/// Small parts: this many of them fit in the time of one iteration.
constexpr int kPartsPerIteration = 16;

/// Chunks that all threadblocks together move, per iteration.
std::int64_t movementsOf(const program::Program& program) {
  std::int64_t sum = 0;
  for (const program::RankProgram& rank : program.ranks) {
    for (const program::ThreadBlock& block : rank.threadBlocks) {
      for (const program::Step& step : block.steps) {
        sum += step.count;
      }
    }
  }
  return sum;
}

}  // namespace

Result<program::Program> arrange(std::span<const Trial> trials, std::size_t frugal, std::int64_t needed,
                                 const Arranger& arranger, const Progress& progress) {
  std::optional<program::Program> best;
  std::int64_t bestPace = 0;
  std::int64_t tried = 0;
  std::optional<Error> failure;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    progress.report("lowering", static_cast<double>(i) / static_cast<double>(trials.size()));
    std::optional<Result<Arranged>> arranged = arranger(trials[i]);
    if (!arranged) {
      continue;
    }
    if (!*arranged) {
      if (!failure || failure->code != ErrorCode::limit) {
        failure = arranged->error();
      }
      if (!best && failure->code == ErrorCode::limit && i + 1 >= frugal) {
        break;
      }
      continue;
    }
    program::Program& program = (*arranged)->single;
    if (const Outcome proved = proveProgress(program, progress); !proved) {
      failure = failure ? failure : proved.error();
      continue;
    }
    const std::int64_t movements = movementsOf(program);
    tried += movements;
    // All arrangements move as much.
    const bool isLast = tried + movements > kTrialChunks;
    const std::int64_t pace = best || !isLast ? paceOf(program, progress) : 0;
    if (!best || pace < bestPace) {
      best = (*arranged)->finish(std::move(program));
      bestPace = pace;
    }
    if (bestPace <= needed || isLast) {
      break;
    }
  }
  if (!best) {
    return *failure;
  }
  return std::move(*best);
}

std::int64_t timePerIteration(std::int64_t chunks, const Bandwidth& algbw, const Options& options) {
  constexpr std::int64_t kLongest = 1'000'000'000;
  if (!algbw.isPositive()) {
    return 0;
  }
  const Rational& rate = algbw.gigabytesPerSecond();
  const Int128 all = Int128{chunks} * options.instances * kBlockRate;
  const Int128 time = (all * rate.denominator() + rate.numerator() - 1) / rate.numerator();
  return static_cast<std::int64_t>(std::min<Int128>(time, kLongest));
}

int smallPart(std::int64_t timePerIteration) {
  return static_cast<int>(std::clamp<std::int64_t>(timePerIteration / kPartsPerIteration, 1, 71));
}

}  // namespace coppice::lowering
