// SPDX-License-Identifier: Apache-2.0
#include "lowering/lowering.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "lowering/emit.hpp"
#include "lowering/plan.hpp"
#include "lowering/protocol.hpp"
#include "lowering/tree_moves.hpp"
#include "lowering/work.hpp"
#include "schedule/expansion.hpp"

namespace coppice::lowering {

namespace {

/// MSCCL keeps this much of a program's name.
constexpr std::size_t kNameLength = 63;
/// Scratch that MSCCL reserves, where the caller gives no size, and the most where the caller does.
constexpr std::int64_t kScratchBytes = std::int64_t{1} << 30;
constexpr std::int64_t kMaxScratchBytes = std::int64_t{1} << 33;
constexpr int kMaxInstances = 32;

bool isPlain(char c) {
  return c >= ' ' && c <= '~' && c != '"' && c != '<' && c != '>' && c != '&' && c != '\'';
}

Outcome checkOptions(const Options& options) {
  if (options.instances < 1 || options.instances > kMaxInstances) {
    return Error{ErrorCode::badUsage, "instances must be 1 to " + std::to_string(kMaxInstances) + ", not " +
                                          std::to_string(options.instances)};
  }
  // MSCCL's window excludes its end; the others' includes it, and 0 means no end.
  const bool isMsccl = options.runtime == program::Runtime::msccl;
  const bool isOpen = !isMsccl && options.maxBytes == 0;
  const std::int64_t least = isMsccl ? options.minBytes : options.minBytes - 1;
  if (options.minBytes < 0 || (!isOpen && options.maxBytes <= least)) {
    return Error{ErrorCode::badUsage,
                 "the size window from " + std::to_string(options.minBytes) + " to " +
                     std::to_string(options.maxBytes) + " bytes is empty",
                 "give 0 <= minBytes < maxBytes"};
  }
  if (options.name.size() > kNameLength || !std::all_of(options.name.begin(), options.name.end(), isPlain)) {
    return Error{ErrorCode::badUsage, "the program's name must have at most " + std::to_string(kNameLength) +
                                          " printable ASCII characters and none of \" ' < > &"};
  }
  return Done{};
}

/// Forests by parts are written out up to this. No runtime takes programs near it.
constexpr std::int64_t kMaxTreeBytes = std::int64_t{2} << 30;

std::string makeName(const fabric::Fabric& fabric, const schedule::Schedule& schedule) {
  std::int64_t k = 0;
  const std::optional<schedule::Forest>& forest =
      schedule.broadcastForest ? schedule.broadcastForest : schedule.reduceForest;
  for (const std::int64_t trees : forest->treesOfRoot) {
    k = std::max(k, trees);
  }
  const std::string head = "coppice " + std::string(toString(schedule.collective)) + " ";
  const std::string tail = " k" + std::to_string(k);
  std::string middle = fabric.name().empty() ? std::to_string(fabric.gpuCount()) + " gpus" : fabric.name();
  std::replace_if(
      middle.begin(), middle.end(), [](char c) { return !isPlain(c); }, '_');
  const std::size_t room = kNameLength - head.size() - tail.size();
  return head + middle.substr(0, room) + tail;
}

/// The window of sizes. Only MSCCL reserves scratch for the largest size beforehand.
Outcome setWindow(program::Program& program, const Options& options) {
  program.minBytes = options.minBytes;
  program.maxBytes = options.maxBytes;
  int scratch = 0;
  for (const program::RankProgram& rank : program.ranks) {
    scratch = std::max(scratch, rank.scratchChunks);
  }
  if (options.runtime != program::Runtime::msccl || scratch == 0) {
    return Done{};
  }
  // Scratch is at most as large as the data: every chunk is summed up in one place.
  const auto scratchFor = [&](std::int64_t bytes) {
    return static_cast<std::int64_t>(static_cast<Int128>(bytes) * scratch / program.chunksPerLoop);
  };
  if (options.maxBytes == kDefaultMaxBytes) {
    while (scratchFor(program.maxBytes) > kScratchBytes) {
      program.maxBytes /= 2;
    }
  }
  if (program.maxBytes <= program.minBytes || scratchFor(program.maxBytes) > kMaxScratchBytes) {
    return Error{ErrorCode::limit,
                 "msccl would reserve " + std::to_string(scratchFor(options.maxBytes) >> 20) +
                     " MiB of scratch on each rank for sizes up to " + std::to_string(options.maxBytes) + " bytes",
                 "give a smaller maxBytes, or lower the in-place program, which needs no scratch"};
  }
  return Done{};
}

Outcome checkScratch(const Work& work, const program::Program& program, const Options& options) {
  const int most = program::limits(options.runtime).offset + 1;
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    const int need = program.ranks[rank].scratchChunks;
    if (need > most) {
      return Error{ErrorCode::limit,
                   "rank " + std::to_string(rank) + " needs " + std::to_string(need) + " chunks of scratch; " +
                       std::string(program::toString(options.runtime)) + " addresses at most " + std::to_string(most) +
                       " (" + std::to_string(need - most) + " too many)",
                   suggestedFix(work, options),
                   {}};
    }
  }
  return Done{};
}

/// Chunk movements, per iteration and over all trials, after which the best arrangement so far has to do.
constexpr std::int64_t kTrialChunks = 3'000'000;

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

/// Threadblocks of one rank that leave most of a GPU for computing.
constexpr int kComfortableBlocks = 64;

/// What to try, in order of preference: few threadblocks and few steps first, and forwarding in one step before two,
/// which takes less time per hop. The third is the one that needs no luck (see StepOrder).
struct Trial {
  bool hasSmallParts = false;
  Style style;
};
constexpr std::array<Trial, 11> kTrials{{
    {false, {kBlockRate, kComfortableBlocks, true, StepOrder::asTheyCome}},
    {false, {kBlockRate, kComfortableBlocks, false, StepOrder::asTheyCome}},
    {false, {kBlockRate, kComfortableBlocks, true, StepOrder::chains}},
    {true, {kBlockRate, kComfortableBlocks, true, StepOrder::asTheyCome}},
    {true, {kBlockRate, kComfortableBlocks, false, StepOrder::asTheyCome}},
    {false, {kBlockRate / 2, kComfortableBlocks, true, StepOrder::asTheyCome}},
    {false, {kBlockRate / 2, kComfortableBlocks, false, StepOrder::asTheyCome}},
    {false, {kBlockRate / 2, kResidentBlocks, true, StepOrder::asTheyCome}},
    {false, {kBlockRate / 2, kResidentBlocks, false, StepOrder::asTheyCome}},
    {true, {kBlockRate / 2, kResidentBlocks, true, StepOrder::asTheyCome}},
    {true, {kBlockRate / 2, kResidentBlocks, false, StepOrder::asTheyCome}},
}};
/// Small parts: this many of them fit in the time of one iteration.
constexpr int kPartsPerIteration = 16;

/// One iteration at the schedule's bandwidth, in units of one chunk through one threadblock; 0 = unknown.
std::int64_t timePerIteration(const Work& work, const Options& options) {
  constexpr std::int64_t kLongest = 1'000'000'000;
  if (!work.algbw.isPositive()) {
    return 0;
  }
  const Int128 chunks = std::int64_t{work.chunks} * options.instances * kBlockRate;
  const Int128 time = (chunks * work.algbw.denominator() + work.algbw.numerator() - 1) / work.algbw.numerator();
  return static_cast<std::int64_t>(std::min<Int128>(time, kLongest));
}

Result<Plan> planTrees(const Work& work, const Options& options, const Style& style, const Copies& copies,
                       const Progress& progress) {
  const Moves moves = movesOf(work, options);
  Result<Plan> plan = makePlan(moves, options, style, copies.need, progress);
  if (plan) {
    if (const Outcome ordered = orderTrees(work, moves, options, style, *plan, progress); !ordered) {
      return ordered.error();
    }
  }
  return plan;
}

/// Tries several arrangements of the steps and keeps the one that keeps up with the links best; the first that does so
/// fully ends the search. Every arrangement that counts has been proven free of deadlock.
Result<program::Program> arrange(const Work& work, const Options& options, const Progress& progress) {
  const std::int64_t needed = timePerIteration(work, options);
  const int smallPart = static_cast<int>(std::clamp<std::int64_t>(needed / kPartsPerIteration, 1, 71));
  const Work finer = withSmallerParts(work, smallPart);
  const bool hasFiner = finer.parts.size() > work.parts.size();
  const bool canFuse = !program::isRccl(options.runtime);
  Options single = options;
  single.instances = 1;

  std::optional<program::Program> best;
  std::int64_t bestPace = 0;
  std::int64_t tried = 0;
  std::optional<Error> failure;
  for (std::size_t i = 0; i < kTrials.size(); ++i) {
    const Trial& trial = kTrials[i];
    if ((!canFuse && !trial.style.fuses) || (trial.hasSmallParts && !hasFiner)) {
      continue;
    }
    progress.report("lowering", static_cast<double>(i) / static_cast<double>(kTrials.size()));
    const Work& parts = trial.hasSmallParts ? finer : work;
    const Copies copies = planCopies(parts, options);
    Result<Plan> plan = planTrees(parts, options, trial.style, copies, progress);
    if (!plan) {
      if (!failure || failure->code != ErrorCode::limit) {
        failure = plan.error();
      }
      // The first three are the most frugal: what fits in none of them does not fit.
      if (!best && failure->code == ErrorCode::limit && i >= 2) {
        break;
      }
      continue;
    }
    const program::Program program = emit(parts, *plan, copies, single, progress);
    if (const Outcome proved = proveProgress(program); !proved) {
      failure = failure ? failure : proved.error();
      continue;
    }
    tried += movementsOf(program);
    const std::int64_t pace = tried <= kTrialChunks || best ? paceOf(program, progress) : 0;
    if (!best || pace < bestPace) {
      best = options.instances > 1 ? emit(parts, *plan, copies, options, progress) : program;
      bestPace = pace;
    }
    if (bestPace <= needed || tried > kTrialChunks) {
      break;
    }
  }
  if (!best) {
    return *failure;
  }
  return std::move(*best);
}

Result<program::Program> lowerChecked(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                      const Options& asked, const Progress& progress) {
  if (const Outcome usable = checkOptions(asked); !usable) {
    return usable.error();
  }
  const Result<program::Protocol> protocol = chooseProtocol(fabric, schedule.collective, asked.protocol);
  if (!protocol) {
    return protocol.error();
  }
  Options options = asked;
  options.protocol = *protocol;
  progress.report("lowering", 0);
  Result<Work> work = makeWork(fabric, schedule, options, progress);
  if (!work) {
    return work.error();
  }
  if (!options.inPlace && !work->hasPhase(Phase::reduce) &&
      !program::isBuilt(program::StepType::copy, options.runtime)) {
    return Error{ErrorCode::limit,
                 "an out-of-place " + std::string(toString(schedule.collective)) + " copies its own data, and " +
                     program::unbuiltText(program::StepType::copy, options.runtime),
                 "lower the in-place program, or one for a later ROCm"};
  }
  Result<program::Program> arranged = arrange(*work, options, progress);
  if (!arranged) {
    return arranged.error();
  }
  program::Program program = std::move(*arranged);
  program.name = options.name.empty() ? makeName(fabric, schedule) : options.name;
  program.collective = schedule.collective;
  program.inPlace = options.inPlace;
  program.outOfPlace = !options.inPlace;
  program.root = work->root;
  if (const Outcome fits = checkScratch(*work, program, options); !fits) {
    return fits.error();
  }
  if (const Outcome set = setWindow(program, options); !set) {
    return set.error();
  }
  if (const Outcome proved = proveProgress(program); !proved) {
    return proved.error();
  }
  progress.report("lowering", 1);
  return program;
}

}  // namespace

Result<program::Program> lower(const fabric::Fabric& fabric, const schedule::Schedule& schedule, const Options& options,
                               const Progress& progress) {
  try {
    const bool hasParts = (schedule.reduceForest && schedule.reduceForest->factored) ||
                          (schedule.broadcastForest && schedule.broadcastForest->factored);
    if (!hasParts) {
      return lowerChecked(fabric, schedule, options, progress);
    }
    schedule::Schedule written = schedule;
    for (auto* forest : {&written.reduceForest, &written.broadcastForest}) {
      if (*forest) {
        auto trees = schedule::expanded(**forest, fabric, kMaxTreeBytes, progress);
        if (!trees) {
          Error error = trees.error();
          if (error.code == ErrorCode::limit) {
            error.message = "a program names every step of every tree: " + error.message;
            error.fix = "lower the schedule of a smaller fabric; trees and .forest.json hold schedules of any size";
          }
          return error;
        }
        *forest = *std::move(trees);
      }
    }
    return lowerChecked(fabric, written, options, progress);
  } catch (const OverflowError& error) {
    return Error{ErrorCode::overflow, error.what(), "use a smaller k"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "lowering was cancelled"};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit, "not enough memory to lower the schedule", "use a smaller k or a smaller fabric"};
  }
}

}  // namespace coppice::lowering
