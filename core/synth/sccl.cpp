// SPDX-License-Identifier: Apache-2.0
#include "synth/sccl.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "base/time_limit.hpp"
#include "synth/allreduce.hpp"
#include "synth/allreduce_front.hpp"
#include "synth/composer.hpp"
#include "synth/front.hpp"
#include "synth/result.hpp"
#include "synth/search.hpp"

namespace coppice::synth {
namespace {

using schedule::CollectiveTable;

constexpr std::int64_t kMaxSteps = 1'000;
constexpr std::int64_t kMaxRounds = 1'000'000;
constexpr std::int64_t kMaxChunks = 1'000'000;
constexpr std::int64_t kDefaultMaxN = 32;
/// Beyond, the routes between all pairs and their symmetries take too much memory.
constexpr int kMaxGpus = 256;
/// Chunks times ranks of one size: some 20 bytes for each while it is searched.
constexpr std::int64_t kMaxPlaces = 40'000'000;
/// Candidates of a front: longest time for one, so that one hard size does not take it all.
constexpr int kShareOfStep = 6;

double secondsAfter(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Searches end by the clock themselves; this ends what only polls for a cancel, a little later.
constexpr double kGraceSeconds = 0.1;

Progress limitedBy(const TimeLimit& limit, const Progress& progress) {
  Progress limited = progress;
  limited.stop = limit.token();
  return limited;
}

std::optional<Error> checkRanks(const fabric::Fabric& fabric) {
  if (fabric.gpuCount() <= kMaxGpus) {
    return std::nullopt;
  }
  return Error{ErrorCode::limit,
               "sccl searches fabrics of up to " + std::to_string(kMaxGpus) + " GPUs; this one has " +
                   std::to_string(fabric.gpuCount()),
               "choose forestcoll or bfb"};
}

std::optional<Error> checkRange(const char* option, std::int64_t value, std::int64_t max) {
  if (value >= 1 && value <= max) {
    return std::nullopt;
  }
  return Error{ErrorCode::badUsage,
               std::to_string(value) + " is out of range",
               "give a whole number from 1 to " + std::to_string(max),
               {.element = {RefKind::option, option}}};
}

}  // namespace

std::optional<Error> checkSize(const CollectiveTable& goal, const StatedSize& size) {
  for (const auto& error :
       {checkRange("--chunks", size.chunks, kMaxChunks), checkRange("--steps", size.steps, kMaxSteps),
        checkRange("--rounds", size.rounds, kMaxRounds)}) {
    if (error) {
      return error;
    }
  }
  if (const std::int64_t divisor = divisorOf(goal); size.chunks % divisor != 0) {
    const std::string of = goal.collective() == Collective::custom ? "rows of the table" : "GPUs";
    return Error{ErrorCode::badUsage,
                 std::to_string(size.chunks) + " chunks are not a multiple of the " + std::to_string(divisor) + " " +
                     of + ", as " + std::string(toString(goal.collective())) + " needs",
                 "give " + std::to_string((size.chunks / divisor + 1) * divisor) + " chunks",
                 {.element = {RefKind::option, "--chunks"}}};
  }
  return std::nullopt;
}

namespace {

/// Refuses sizes beyond memory. @param perUnit chunks of the whole collective per `divisor` chunks as the user counts
std::optional<Error> checkMemory(const StatedSize& size, std::int64_t perUnit, std::int64_t divisor, int ranks) {
  const std::int64_t max = kMaxPlaces / (perUnit * ranks) * divisor;
  if (size.chunks <= max) {
    return std::nullopt;
  }
  return Error{ErrorCode::badUsage,
               std::to_string(size.chunks) + " chunks are too many to search on " + std::to_string(ranks) + " GPUs",
               max > 0 ? "give at most " + std::to_string(max) + " chunks" : "keep fewer GPUs, or choose forestcoll",
               {.element = {RefKind::option, "--chunks"}}};
}

Result<Synthesis> synthesizeAllreduce(const fabric::Fabric& fabric, const StatedSize& size,
                                      const SynthesisOptions& options, const TimedProgress& progress, Bandwidth& unit) {
  const auto start = Clock::now();
  const auto deadline = after(options.seconds);
  if (auto error = checkMemory(size, 1, 1, fabric.gpuCount())) {
    return *std::move(error);
  }
  auto search = AllreduceSearch::make(fabric, options.unit, options.seed, progress);
  if (!search) {
    return search.error();
  }
  unit = search->unit();
  auto answer = search->decide(static_cast<int>(size.steps), size.rounds, size.chunks, options.isDirect, deadline);
  return Synthesis{answer.verdict, std::move(answer.reason), std::move(answer.schedule), secondsAfter(start),
                   unit,           answer.isBySolver,        progress.dependsOnTime()};
}

}  // namespace

Result<Synthesis> synthesize(const fabric::Fabric& fabric, const CollectiveTable& goal, const StatedSize& size,
                             const SynthesisOptions& options, const Progress& whole) {
  for (const auto& error : {checkRanks(fabric), checkSize(goal, size)}) {
    if (error) {
      return *error;
    }
  }
  const TimeLimit limit(whole, options.seconds + kGraceSeconds);
  const TimedProgress progress = limitedBy(limit, whole);
  const auto start = Clock::now();
  Bandwidth unit;
  try {
    if (goal.collective() == Collective::allreduce) {
      return synthesizeAllreduce(fabric, size, options, progress, unit);
    }
    const auto deadline = after(options.seconds);
    auto problem = problemOn(fabric, goal, options.unit);
    if (!problem) {
      return problem.error();
    }
    if (auto error = checkMemory(size, static_cast<std::int64_t>(problem->classes.size()), problem->divisor,
                                 problem->topology.nodes)) {
      return *std::move(error);
    }
    unit = problem->topology.unit;
    Search search(*std::move(problem), options.seed, progress, composersOfBoxes(options.seed, progress));
    const std::int64_t n = size.chunks / search.problem().divisor;
    Decision decision = search.decide({static_cast<int>(size.steps), size.rounds, n}, deadline);
    Synthesis result{decision.verdict, std::move(decision.reason), {}, 0, unit, decision.isBySolver};
    if (decision.verdict == Verdict::sat) {
      auto made = scheduleOf(fabric, goal, search.problem(), n, *decision.found, whole);
      if (!made) {
        return made.error();
      }
      result.schedule = *std::move(made);
    }
    result.seconds = secondsAfter(start);
    result.dependsOnTime = progress.dependsOnTime();
    return result;
  } catch (const CancelledError&) {
    if (!whole.isCancelled()) {
      return Synthesis{Verdict::unknown, "no answer within the time limit", {}, secondsAfter(start), unit, false, true};
    }
    return Error{ErrorCode::cancelled, "interrupted"};
  } catch (const OverflowError& error) {
    return Error{ErrorCode::overflow, error.what(), "use numbers with fewer digits, or a larger unit"};
  }
}

Result<StatedFront> synthesizeFront(const fabric::Fabric& fabric, const CollectiveTable& goal,
                                    const FrontLimits& limits, const SynthesisOptions& options,
                                    const FrontEvents& given, const Progress& whole) {
  if (auto error = checkRanks(fabric)) {
    return *std::move(error);
  }
  const TimeLimit limit(whole, options.seconds + kGraceSeconds);
  const TimedProgress progress = limitedBy(limit, whole);
  FrontEvents events = given;
  if (!events.onCandidate) {
    events.onCandidate = [](const Candidate&) {};
  }
  if (!events.onBound) {
    events.onBound = [](std::int64_t, const Rational&) {};
  }
  try {
    if (goal.collective() == Collective::allreduce) {
      return allreduceFront(fabric, limits, options, events, progress);
    }
    FrontOptions inner;
    inner.deadline = after(options.seconds);
    inner.candidateSeconds = limits.candidateSeconds > 0 ? limits.candidateSeconds : options.seconds / kShareOfStep;
    inner.extraRounds = limits.extraRounds;
    inner.maxSteps = static_cast<int>(std::min(limits.maxSteps, kMaxSteps));
    auto problem = problemOn(fabric, goal, options.unit);
    if (!problem) {
      return problem.error();
    }
    const std::int64_t divisor = problem->divisor;
    inner.maxN = limits.maxChunks > 0 ? std::max<std::int64_t>(1, limits.maxChunks / divisor) : kDefaultMaxN;
    // A broadcast by scatter and allgather takes some chunks for each rank.
    inner.maxComposed = inner.maxN;
    if (limits.maxChunks == 0 && problem->classes.size() == 1) {
      inner.maxComposed = 4 * static_cast<std::int64_t>(problem->topology.nodes);
    }
    Search search(*std::move(problem), options.seed, progress, composersOfBoxes(options.seed, progress));
    const auto stated = [&](const Size& size) { return StatedSize{size.n * divisor, size.steps, size.rounds}; };
    std::optional<Error> fault;
    FrontHandlers handlers;
    handlers.onBound = [&](int steps, const Rational& bound) { events.onBound(steps, bound / Rational(divisor)); };
    handlers.onCandidate = [&](const Size& size, const Decision& decision, double seconds) {
      if (decision.found && events.onSchedule) {
        auto made = scheduleOf(fabric, goal, search.problem(), size.n, *decision.found, Progress{});
        if (made) {
          events.onSchedule(stated(size), search.problem().topology.unit, *std::move(made));
        } else if (!fault) {
          fault = made.error();
        }
      }
      events.onCandidate({stated(size), decision.verdict, decision.reason, seconds});
    };
    Front found = paretoFront(search, inner, handlers);
    if (fault) {
      return *std::move(fault);
    }
    StatedFront front;
    front.minSteps = found.minSteps;
    front.minRatio = found.minRatio.ratio / Rational(divisor);
    front.isMinRatioExact = found.minRatio.isTight;
    front.isComplete = found.isComplete;
    front.isCutOff = found.isCutOff;
    front.dependsOnTime = progress.dependsOnTime();
    front.unit = search.problem().topology.unit;
    for (FrontPoint& point : found.points) {
      auto made = scheduleOf(fabric, goal, search.problem(), point.size.n, point.steps, Progress{});
      if (!made) {
        return made.error();
      }
      front.points.push_back({stated(point.size), point.isOptimal, point.isOptimalWithin,
                              point.bound / Rational(divisor), std::move(point.how),
                              static_cast<std::int64_t>(point.refuted.size()),
                              static_cast<std::int64_t>(point.open.size()), *std::move(made)});
    }
    return front;
  } catch (const CancelledError&) {
    if (!whole.isCancelled()) {
      return Error{ErrorCode::limit, "the time limit ended before the search began", "raise --time-limit"};
    }
    return Error{ErrorCode::cancelled, "interrupted"};
  } catch (const OverflowError& error) {
    return Error{ErrorCode::overflow, error.what(), "use numbers with fewer digits, or a larger unit"};
  }
}

}  // namespace coppice::synth
