// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/collective_table.hpp"
#include "schedule/step_schedule.hpp"
#include "synth/sat.hpp"
#include "synth/topology.hpp"

/// Synthesis of step schedules: one size, or the whole front of steps against rounds per chunk.
namespace coppice::synth {

/// How people state a size. Chunks count per rank (allgather, gather, allreduce in slots), of the root (broadcast,
/// reduce, scatter), per rank and in multiples of the ranks (alltoall, reduce_scatter), or of the whole table in
/// multiples of its rows (custom).
struct StatedSize {
  std::int64_t chunks = 0;
  std::int64_t steps = 0;
  std::int64_t rounds = 0;
};

struct SynthesisOptions {
  UnitChoice unit = {};
  double seconds = 60;
  std::uint64_t seed = 1;
  bool isDirect = false;  ///< allreduce: only in one piece, not as reduce_scatter and allgather
};

struct Synthesis {
  Verdict verdict = Verdict::unknown;
  std::string reason;
  std::optional<schedule::StepSchedule> schedule;  ///< where sat; unverified
  double seconds = 0;
  Bandwidth unit;           ///< as used
  bool isBySolver = false;  ///< unsat: the solver says so, and Refutation can show it; else a bound does
  bool dependsOnTime =
      false;  ///< a limit of time ended a part of the search: another machine may find another schedule
};

/// Refuses numbers out of range and chunks that do not divide. Errors: badUsage naming the option.
[[nodiscard]] std::optional<Error> checkSize(const schedule::CollectiveTable& goal, const StatedSize& size);

/// Decides one size. Errors: limit (too many GPUs), badUsage naming the option (a number below 1, chunks that do not
/// divide or are more than memory holds, a bad unit), those of topologyOf, problemOf and scheduleOf; cancelled;
/// overflow.
Result<Synthesis> synthesize(const fabric::Fabric& fabric, const schedule::CollectiveTable& goal,
                             const StatedSize& size, const SynthesisOptions& options, const Progress& progress);

struct StatedPoint {
  StatedSize size;
  bool isOptimal = false;        ///< no schedule of this many steps has a lower R/C, whatever its chunks
  bool isOptimalWithin = false;  ///< the same of schedules within FrontLimits::extraRounds; true where isOptimal is
  Rational bound;                ///< proved bound on R/C for this number of steps, with any number of rounds
  std::string how;
  std::int64_t refuted = 0;  ///< sizes of better ratios that were proved impossible
  std::int64_t open = 0;     ///< sizes of better ratios without an answer
  schedule::StepSchedule schedule;
};

struct StatedFront {
  std::vector<StatedPoint> points;
  std::int64_t minSteps = 0;
  Rational minRatio;             ///< bound on R/C over all numbers of steps
  bool isMinRatioExact = false;  ///< the relaxation reaches it
  bool isComplete = false;       ///< the last point has the minimum ratio
  bool isCutOff = false;         ///< time limit or cancel
  bool dependsOnTime = false;    ///< as Synthesis says
  Bandwidth unit;
};

struct Candidate {
  StatedSize size;
  Verdict verdict = Verdict::unknown;
  std::string reason;
  double seconds = 0;
};

struct FrontLimits {
  std::int64_t maxSteps = 0;    ///< 0 = four more than the minimum
  std::int64_t maxChunks = 0;   ///< 0 = 32 in each class
  double candidateSeconds = 0;  ///< one candidate may take this long; 0 = a sixth of the time
  /// Only k-synchronous schedules: R <= S + k; nullopt = any number of rounds.
  std::optional<std::int64_t> extraRounds = {};
};

/// What is heard while a front is searched, on the thread of the search. Each may be empty.
struct FrontEvents {
  /// Every decision.
  std::function<void(const Candidate&)> onCandidate = {};
  /// The proved bound on R/C at this number of steps, before its first candidate; 0 = over all numbers of steps.
  std::function<void(std::int64_t steps, const Rational& bound)> onBound = {};
  /// What a candidate was satisfied with, unverified, before onCandidate hears of it.
  std::function<void(const StatedSize& size, const Bandwidth& unit, schedule::StepSchedule schedule)> onSchedule = {};
};

/// The front. A cancel keeps what was found (isCutOff). For allreduce, schedules in halves and in one piece together;
/// optimal then says that no allreduce has a lower R/C. Errors: as synthesize(), but cancelled.
Result<StatedFront> synthesizeFront(const fabric::Fabric& fabric, const schedule::CollectiveTable& goal,
                                    const FrontLimits& limits, const SynthesisOptions& options,
                                    const FrontEvents& events, const Progress& progress);
/// The same for callers that only want to hear of the candidates.
inline Result<StatedFront> synthesizeFront(const fabric::Fabric& fabric, const schedule::CollectiveTable& goal,
                                           const FrontLimits& limits, const SynthesisOptions& options,
                                           const std::function<void(const Candidate&)>& onCandidate,
                                           const Progress& progress) {
  return synthesizeFront(fabric, goal, limits, options, FrontEvents{onCandidate, {}, {}}, progress);
}

}  // namespace coppice::synth
