// SPDX-License-Identifier: Apache-2.0
#include "lowering/lowering.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "lowering/arrange.hpp"
#include "lowering/early_check.hpp"
#include "lowering/emit.hpp"
#include "lowering/finish.hpp"
#include "lowering/footprint.hpp"
#include "lowering/plan.hpp"
#include "lowering/protocol.hpp"
#include "lowering/tree_moves.hpp"
#include "lowering/work.hpp"
#include "schedule/expansion.hpp"
#include "schedule/switch_need.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::lowering {

namespace {

/// Images of trees are written out up to this. No runtime takes programs near it.
constexpr std::int64_t kMaxTreeBytes = std::int64_t{2} << 30;

std::string treesOf(const schedule::Schedule& schedule) {
  std::int64_t k = 0;
  const std::optional<schedule::Forest>& forest =
      schedule.broadcastForest ? schedule.broadcastForest : schedule.reduceForest;
  for (const std::int64_t trees : forest->treesOfRoot) {
    k = std::max(k, trees);
  }
  return " k" + std::to_string(k);
}

/// What to try, in order of preference: few threadblocks and few steps first, and forwarding in one step before two,
/// which takes less time per hop. The third is the one that needs no luck (see StepOrder).
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

/// Those of kTrials that take the fewest threadblocks and steps.
constexpr std::size_t kFrugalTrials = 3;

Result<Plan> planTrees(const Work& work, const Options& options, const Style& style, const Copies& copies,
                       const Progress& progress) {
  const Moves moves = movesOf(work, options, progress);
  Result<Plan> plan = makePlan(moves, options, style, copies.need, progress);
  if (plan) {
    if (const Outcome ordered = orderTrees(work, moves, options, style, *plan, progress); !ordered) {
      return ordered.error();
    }
  }
  return plan;
}

Result<program::Program> arrangeTrees(const Work& work, const Options& options, StepOrigins* origins,
                                      const Progress& progress) {
  const std::int64_t needed = timePerIteration(work.chunks, work.algbw, options);
  const Work finer = withSmallerParts(work, smallPart(needed));
  const bool hasFiner = finer.parts.size() > work.parts.size();
  const bool canFuse = !program::isRccl(options.runtime);
  Options single = options;
  single.instances = 1;
  const Arranger arranger = [&](const Trial& trial) -> std::optional<Result<Arranged>> {
    if ((!canFuse && !trial.style.fuses) || (trial.hasSmallParts && !hasFiner)) {
      return std::nullopt;
    }
    const Work& parts = trial.hasSmallParts ? finer : work;
    const Copies copies = planCopies(parts, options);
    Result<Plan> planned = planTrees(parts, options, trial.style, copies, progress);
    if (!planned) {
      return planned.error();
    }
    const auto plan = std::make_shared<const Plan>(*std::move(planned));
    const auto made = std::make_shared<StepOrigins>();
    return Arranged{emit(parts, *plan, copies, single, progress, origins != nullptr ? made.get() : nullptr),
                    [=, &parts, &options, &progress](program::Program one) {
                      if (options.instances > 1) {
                        one = emit(parts, *plan, copies, options, progress, origins != nullptr ? made.get() : nullptr);
                      }
                      if (origins != nullptr) {
                        *origins = std::move(*made);
                      }
                      return one;
                    }};
  };
  return arrange(kTrials, kFrugalTrials, needed, arranger, progress);
}

/// A program sends between GPUs. Trees that fit the links only because switches copy or sum would not keep their algbw.
Outcome requirePlainSwitches(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                             const Progress& progress) {
  // Trees of another fabric are refused with their reason further on.
  const bool isOfFabric = schedule.fabricDigest.empty() || schedule.fabricDigest == fabric.digest();
  if (!isOfFabric || !schedule::needsSwitches(fabric, schedule, progress)) {
    return Done{};
  }
  return Error{ErrorCode::unavailable,
               "switches sum and copy in this schedule, which a program of sends and receives between GPUs cannot say: "
               "without them its links would carry more than they can at " +
                   toFraction(schedule.algbw) + " GB/s",
               "generate it again with --plain-switches, which does without; a .forest.json holds this one"};
}

/// Options with the protocol.
Result<Options> chosenOptions(const fabric::Fabric& fabric, const schedule::Schedule& schedule, Options options) {
  if (const Outcome usable = checkOptions(options); !usable) {
    return usable.error();
  }
  const Result<program::Protocol> protocol =
      chooseProtocol(fabric, schedule.collective, options.protocol, options.runtime);
  if (!protocol) {
    return protocol.error();
  }
  options.protocol = *protocol;
  options.multiprocessors = multiprocessorsOf(fabric, options);
  return options;
}

Result<Work> readWork(const fabric::Fabric& fabric, const schedule::Schedule& schedule, const Options& options,
                      const Progress& progress) {
  Result<Work> work = makeWork(fabric, schedule, options, progress);
  if (work && !options.inPlace && !work->hasPhase(Phase::reduce) &&
      !program::isBuilt(program::StepType::copy, options.runtime)) {
    return Error{ErrorCode::limit,
                 "an out-of-place " + std::string(toString(schedule.collective)) + " copies its own data, and " +
                     program::unbuiltText(program::StepType::copy, options.runtime),
                 "lower the in-place program, or one for a later ROCm"};
  }
  return work;
}

Result<program::Program> lowerWritten(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                      const Options& options, const Progress& progress, StepOrigins* origins) {
  progress.report("lowering", 0);
  const Result<Work> work = readWork(fabric, schedule, options, progress);
  if (!work) {
    return work.error();
  }
  Result<program::Program> arranged = arrangeTrees(*work, options, origins, progress);
  if (!arranged) {
    return arranged.error();
  }
  program::Program program = std::move(*arranged);
  program.name = options.name.empty() ? makeName(fabric, schedule.collective, treesOf(schedule)) : options.name;
  program.collective = schedule.collective;
  program.inPlace = options.inPlace;
  program.outOfPlace = !options.inPlace;
  program.root = work->root;
  if (const Outcome set = setWindow(program, options, suggestedFix(*work, options)); !set) {
    return set.error();
  }
  // One instance was proven when it was arranged.
  if (const Outcome proved = options.instances > 1 ? proveProgress(program, progress) : Done{}; !proved) {
    return proved.error();
  }
  progress.report("lowering", 1);
  return program;
}

/// The first arrangement that fits, of those that take the fewest threadblocks, without the order of its steps.
Result<Footprint> planWritten(const fabric::Fabric& fabric, const schedule::Schedule& schedule, const Options& options,
                              const Progress& progress) {
  const Result<Work> work = readWork(fabric, schedule, options, progress);
  if (!work) {
    return work.error();
  }
  const Copies copies = planCopies(*work, options);
  const Moves moves = movesOf(*work, options, progress);
  std::optional<Error> failure;
  for (std::size_t trial = 0; trial < kFrugalTrials; ++trial) {
    const Result<Plan> plan = makePlan(moves, options, kTrials[trial].style, copies.need, progress);
    if (!plan) {
      failure = failure ? failure : plan.error();
      continue;
    }
    Footprint footprint;
    for (std::size_t rank = 0; rank < plan->blocks.size(); ++rank) {
      const int blocks = static_cast<int>(plan->blocks[rank].size()) + copies.need[rank].blocks;
      footprint.threadBlocks = std::max(footprint.threadBlocks, blocks * options.instances);
    }
    return footprint;
  }
  return *failure;
}

/// Calls use(schedule, options) with every image of the trees written. @pre use returns a Result<T>
template <typename T, typename Use>
Result<T> withWrittenTrees(const fabric::Fabric& fabric, const schedule::Schedule& schedule, const Options& asked,
                           const Progress& progress, const Use& use) {
  return guarded(
      [&]() -> Result<T> {
        if (const Outcome possible = requirePlainSwitches(fabric, schedule, progress); !possible) {
          return possible.error();
        }
        const Result<Options> options = chosenOptions(fabric, schedule, asked);
        if (!options) {
          return options.error();
        }
        const auto isWritten = [](const std::optional<schedule::Forest>& forest) {
          return !forest || forest->rotations.empty();
        };
        if (isWritten(schedule.reduceForest) && isWritten(schedule.broadcastForest)) {
          return use(schedule, *options);
        }
        if (const Outcome possible = checkEarly(fabric, schedule, *options); !possible) {
          return possible.error();
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
        return use(written, *options);
      },
      {.overflowFix = "use a smaller k",
       .memory = "not enough memory to lower the schedule",
       .memoryFix = "use a smaller k or a smaller fabric",
       .cancelled = "lowering was cancelled"});
}

}  // namespace

Result<program::Program> lower(const fabric::Fabric& fabric, const schedule::Schedule& schedule, const Options& options,
                               const Progress& progress, StepOrigins* origins) {
  return withWrittenTrees<program::Program>(fabric, schedule, options, progress,
                                            [&](const schedule::Schedule& written, const Options& chosen) {
                                              return lowerWritten(fabric, written, chosen, progress, origins);
                                            });
}

Result<Footprint> footprint(const fabric::Fabric& fabric, const schedule::Schedule& schedule, const Options& options,
                            const Progress& progress) {
  constexpr std::int64_t kMaxWritten = 200'000;
  if (messagesOf(schedule) > kMaxWritten) {
    return withWrittenTrees<Footprint>(fabric, schedule, options, progress,
                                       [&](const schedule::Schedule& written, const Options& chosen) {
                                         return planWritten(fabric, written, chosen, progress);
                                       });
  }
  const Result<program::Program> program = lower(fabric, schedule, options, progress);
  if (!program) {
    return program.error();
  }
  Footprint footprint{.isWritten = true};
  for (const program::RankProgram& rank : program->ranks) {
    footprint.threadBlocks = std::max(footprint.threadBlocks, static_cast<int>(rank.threadBlocks.size()));
  }
  return footprint;
}

std::int64_t messagesOf(const schedule::Schedule& schedule) {
  std::int64_t messages = 0;
  for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    messages = *forest ? checkedAdd(messages, schedule::sizeOf(**forest).edges) : messages;
  }
  return messages;
}

}  // namespace coppice::lowering
