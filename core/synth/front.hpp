// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "synth/search.hpp"

namespace coppice::synth {

struct FrontOptions {
  int maxSteps = 0;               ///< 0 = four more than the minimum
  std::int64_t maxN = 32;         ///< chunks of each class
  std::int64_t maxComposed = 32;  ///< the same for schedules that are composed
  double candidateSeconds = 10;   ///< one candidate may take this long
  /// Only k-synchronous schedules: R <= S + k; nullopt = any number of rounds.
  std::optional<std::int64_t> extraRounds = {};
  Clock::time_point deadline;
};

inline constexpr std::int64_t kAnyRounds = std::numeric_limits<std::int64_t>::max();

/// The maximum rounds of this many steps.
[[nodiscard]] inline std::int64_t roundsWithin(std::int64_t steps, const std::optional<std::int64_t>& extraRounds) {
  return extraRounds ? steps + *extraRounds : kAnyRounds;
}

/// The minimum R/n with R from `steps` to `maxRounds` that is not below the bound; nullopt where not even one chunk
/// fits.
[[nodiscard]] std::optional<Rational> minRatioWithin(const Rational& bound, std::int64_t steps, std::int64_t maxRounds);

/// Into how many parts the time left is split where this many numbers of steps are still to be searched: with a
/// thousand of them, the first ones get more than a thousandth.
[[nodiscard]] constexpr int sharesOfTime(std::int64_t stepsLeft) {
  constexpr std::int64_t kMaxShares = 10;
  return static_cast<int>(std::min(stepsLeft, kMaxShares));
}

/// One step count at which R/C falls.
struct FrontPoint {
  Size size;
  Steps steps;
  std::string how;
  /// No schedule of this many steps has a lower R/C, whatever its chunks: R/n is the proved bound.
  bool isOptimal = false;
  /// The same of schedules within extraRounds; true where isOptimal is.
  bool isOptimalWithin = false;
  Rational bound = {};             ///< the proved bound on R/n at this number of steps, with any number of rounds
  std::vector<Size> refuted = {};  ///< better ratios that were proved impossible
  std::vector<Size> open = {};     ///< better ratios without an answer
};

struct Front {
  std::vector<FrontPoint> points;
  int minSteps = 0;
  RatioBound minRatio;      ///< over all numbers of steps, in R/n
  bool isComplete = false;  ///< the last point has the minimum ratio of all
  bool isCutOff = false;    ///< the time limit or a cancel ended it; what was found is kept
};

/// What is heard of the search, on its thread.
struct FrontHandlers {
  /// Every decision with its seconds.
  std::function<void(const Size&, const Decision&, double)> onCandidate = {};
  /// The proved bound on R/n at this number of steps, before its first candidate; 0 = over all numbers of steps.
  std::function<void(int steps, const Rational& bound)> onBound = {};
};

/// The corrected procedure of the paper's section 3.7: per number of steps the bound first, then sizes that meet it,
/// then others of fewer and then more chunks by ascending R/C; a fraction is done only when its multiples are, and a
/// point is called optimal only where the bound proves it. A cancel ends the search and keeps what was found.
/// Within extraRounds the points are the best that were found there, and a step count without one has no point.
Front paretoFront(Search& search, const FrontOptions& options, const FrontHandlers& handlers);

}  // namespace coppice::synth
