// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "lowering/arrange.hpp"
#include "lowering/emit.hpp"
#include "lowering/finish.hpp"
#include "lowering/lowering.hpp"
#include "lowering/protocol.hpp"
#include "lowering/step_emit.hpp"
#include "lowering/step_moves.hpp"
#include "lowering/step_work.hpp"
#include "schedule/chunk_grid.hpp"

namespace coppice::lowering {

namespace {

using schedule::StepSchedule;

/// In order of preference, as for trees. The second and the last need no luck.
constexpr std::array<Trial, 10> kStepTrials{{
    {false, {kBlockRate, kComfortableBlocks, true, StepOrder::asScheduled}},
    {false, {kBlockRate, kComfortableBlocks, false, StepOrder::asScheduled}},
    {false, {kBlockRate, kComfortableBlocks, true, StepOrder::asTheyCome}},
    {false, {kBlockRate, kComfortableBlocks, true, StepOrder::chains}},
    {true, {kBlockRate, kComfortableBlocks, true, StepOrder::asScheduled}},
    {true, {kBlockRate, kComfortableBlocks, false, StepOrder::asScheduled}},
    {false, {kBlockRate / 2, kResidentBlocks, true, StepOrder::asScheduled}},
    {false, {kBlockRate / 2, kResidentBlocks, false, StepOrder::asScheduled}},
    {true, {kBlockRate / 2, kResidentBlocks, true, StepOrder::asScheduled}},
    {true, {kBlockRate / 2, kResidentBlocks, false, StepOrder::asScheduled}},
}};
constexpr std::size_t kFrugal = 4;

std::string runtimeName(const Options& options) {
  return std::string(program::toString(options.runtime));
}

/// Whether the runtime has a call for it.
Outcome checkCollective(const StepSchedule& schedule, const Options& options) {
  const Collective collective = schedule.goal.collective();
  const std::string name(toString(collective));
  if (collective == Collective::custom && options.runtime != program::Runtime::msccl &&
      options.runtime != program::Runtime::mscclpp) {
    return Error{ErrorCode::badUsage, runtimeName(options) + " does not support custom collectives",
                 "lower it for msccl (--target msccl), whose ncclCustomCollective runs it"};
  }
  if (collective == Collective::custom && options.instances > 1) {
    return Error{ErrorCode::badUsage, "a custom collective has one instance: its shards lie one after the other",
                 "leave --instances out; --chunks gives smaller chunks"};
  }
  const bool isRare = collective == Collective::gather || collective == Collective::scatter;
  if (isRare && options.runtime == program::Runtime::msccl) {
    return Error{ErrorCode::badUsage, "msccl does not support " + name, "lower it for rccl (--target rccl)"};
  }
  if (collective != Collective::custom && hasUnits(schedule.goal)) {
    const bool isSliced = collective == Collective::allgather || collective == Collective::reduceScatter;
    if (options.runtime != program::Runtime::mscclpp || !isSliced) {
      return Error{ErrorCode::limit,
                   "the calls of the runtimes give every rank of " + name + " an equal share; here they differ",
                   isSliced ? "lower a schedule with equal amounts, or export it with --target mscclpp, whose plans "
                              "hold any"
                            : "lower a schedule with equal amounts; .schedule.json holds any amounts"};
    }
  }
  const bool copiesOwn = !options.inPlace && !reduces(collective);
  if (copiesOwn && !program::isBuilt(program::StepType::copy, options.runtime)) {
    return Error{
        ErrorCode::limit,
        (hasInPlace(collective) ? "an out-of-place " + name : name) + " copies its own data, and " +
            program::unbuiltText(program::StepType::copy, options.runtime),
        hasInPlace(collective) ? "lower the in-place program, or one for a later ROCm" : "lower it for a later ROCm"};
  }
  return Done{};
}

/// What reading the transfers takes for granted; whether they make a schedule is for the verifiers to say.
Outcome checkShape(const fabric::Fabric& fabric, const StepSchedule& schedule) {
  const auto bad = [](const std::string& what, std::size_t transfer) {
    return Error{ErrorCode::badInput,
                 what,
                 "generate the schedule again for this fabric",
                 {.element = {RefKind::transfer, transfer}}};
  };
  if (schedule.goal.rankCount() != fabric.gpuCount()) {
    return Error{ErrorCode::badInput,
                 "the schedule is for " + std::to_string(schedule.goal.rankCount()) + " GPUs, the fabric has " +
                     std::to_string(fabric.gpuCount()),
                 "generate the schedule again for this fabric"};
  }
  if (schedule.denominator < 1) {
    return Error{ErrorCode::badInput, "the denominator of the pieces is below 1",
                 "give the number of parts of a shard"};
  }
  for (schedule::PathId route = 0; route < schedule.paths.size(); ++route) {
    const auto nodes = schedule.paths[route];
    if (std::any_of(nodes.begin(), nodes.end(), [&](int node) { return node < 0 || node >= fabric.nodeCount(); })) {
      return Error{ErrorCode::badInput,
                   "A route leaves the fabric",
                   "generate the schedule again for this fabric",
                   {.element = {RefKind::route, route}}};
    }
  }
  std::int32_t step = 0;
  for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
    const schedule::Transfer transfer = schedule.transfers[i];
    const auto isRank = [&](int rank) { return rank >= 0 && rank < fabric.gpuCount(); };
    if (transfer.shard < 0 || transfer.shard >= schedule.goal.shardCount()) {
      return bad("There is no shard " + std::to_string(transfer.shard), i);
    }
    if (!isRank(transfer.from) || !isRank(transfer.to) || transfer.from == transfer.to) {
      return bad("Rank " + std::to_string(transfer.from) + " cannot send to rank " + std::to_string(transfer.to), i);
    }
    if (transfer.begin < 0 || transfer.begin >= transfer.end || transfer.end > schedule.denominator) {
      return bad("The piece is empty or not within its shard", i);
    }
    if (transfer.route < schedule::kNoRoute || transfer.route >= schedule.paths.size()) {
      return bad("There is no route " + std::to_string(transfer.route), i);
    }
    if (transfer.step < step || transfer.step >= schedule.stepCount) {
      return bad("Step " + std::to_string(transfer.step) + " is out of order or does not exist", i);
    }
    step = transfer.step;
  }
  return Done{};
}

/// Chunks of the largest buffer of one instance, where each shard has one (custom: each unit of its share).
std::int64_t shardsOfBuffer(const StepSchedule& schedule) {
  if (hasUnits(schedule.goal)) {
    const std::vector<std::int64_t> units = unitsOf(schedule.goal);
    return std::max<std::int64_t>(
        1, std::accumulate(units.begin(), units.end(), std::int64_t{0}, checkedAdd<std::int64_t>));
  }
  return schedule.goal.shardCount() > 1 ? schedule.goal.rankCount() : 1;
}

std::int64_t maxChunks(const StepSchedule& schedule, const Options& options) {
  return (std::int64_t{program::limits(options.runtime).offset} + 1) / options.instances / shardsOfBuffer(schedule);
}

Outcome checkChunks(const StepSchedule& schedule, std::int64_t chunks, const Options& options) {
  if (chunks <= maxChunks(schedule, options)) {
    return Done{};
  }
  const std::string each = options.instances > 1 ? " x " + std::to_string(options.instances) + " instances" : "";
  const bool isCustom = schedule.goal.collective() == Collective::custom;
  const std::string shards = isCustom ? " for each of " + std::to_string(shardsOfBuffer(schedule)) + " units of shares"
                             : shardsOfBuffer(schedule) > 1
                                 ? " for each of " + std::to_string(schedule.goal.rankCount()) + " ranks"
                                 : "";
  const std::string why = options.chunks > 0
                              ? std::to_string(chunks) + " chunks are asked for" + shards + each
                              : "the ends of the pieces have the common denominator " + std::to_string(chunks) +
                                    ", so the program needs that many chunks" + shards + each;
  return Error{ErrorCode::limit,
               why + "; " + runtimeName(options) + " addresses at most " +
                   std::to_string(program::limits(options.runtime).offset + 1) + " in a buffer",
               options.instances > 1 ? "use fewer instances or fewer chunks" : "use fewer chunks",
               {}};
}

/// Waits that only the finished program shows can fill a threadblock.
Outcome checkSteps(const program::Program& program, const Options& options) {
  const program::RuntimeLimits& limit = program::limits(options.runtime);
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    std::size_t elements = 1 + program.ranks.size();
    for (const program::ThreadBlock& block : program.ranks[rank].threadBlocks) {
      elements += 1 + block.steps.size();
      if (block.steps.size() > static_cast<std::size_t>(limit.stepsPerThreadBlock)) {
        return Error{ErrorCode::limit,
                     "a threadblock of rank " + std::to_string(rank) + " needs " + std::to_string(block.steps.size()) +
                         " steps with its waits; " + runtimeName(options) + " runs at most " +
                         std::to_string(limit.stepsPerThreadBlock),
                     "use fewer chunks or fewer instances",
                     {}};
      }
    }
    if (elements * static_cast<std::size_t>(options.instances) > static_cast<std::size_t>(limit.xmlNodes)) {
      return Error{ErrorCode::limit,
                   "rank " + std::to_string(rank) + " needs " + std::to_string(elements) +
                       " XML elements with its waits; " + runtimeName(options) + " reads at most " +
                       std::to_string(limit.xmlNodes),
                   "use fewer chunks or fewer instances",
                   {}};
    }
  }
  return Done{};
}

Result<Arranged> arrangeOnce(const StepWork& work, const Style& style, const Options& options,
                             const Progress& progress) {
  Options single = options;
  single.instances = 1;
  const Moves moves = movesOf(work, options);
  const StepCopies copies = planCopies(work, options);
  Result<Plan> planned = makePlan(moves, options, style, copies.need, progress);
  if (!planned) {
    return planned.error();
  }
  if (const Outcome ordered = orderSteps(work, moves, options, style, *planned, progress); !ordered) {
    return ordered.error();
  }
  const auto plan = std::make_shared<const Plan>(*std::move(planned));
  Arranged arranged{emit(work, *plan, copies, single, progress), [=, &work, &options, &progress](program::Program one) {
                      return options.instances > 1 ? emit(work, *plan, copies, options, progress) : one;
                    }};
  if (const Outcome fits = checkSteps(arranged.single, options); !fits) {
    return fits.error();
  }
  return arranged;
}

Result<program::Program> arrangeSteps(const fabric::Fabric& fabric, const StepSchedule& schedule, int chunks,
                                      const Options& options, const Progress& progress) {
  const int max = program::limits(options.runtime).count;
  const auto work = makeStepWork(fabric, schedule, chunks, max, options, progress);
  if (!work) {
    return work.error();
  }
  if (work->messages.empty()) {
    return Error{ErrorCode::badInput, "the schedule sends nothing", "generate the schedule again for this fabric"};
  }
  const std::int64_t needed = timePerIteration(work->placement.chunksOfAll(), schedule.algbw, options);
  const bool hasFiner = std::any_of(work->messages.begin(), work->messages.end(),
                                    [&](const StepMessage& message) { return message.count > smallPart(needed); });
  std::unique_ptr<StepWork> finer;
  const Arranger arranger = [&](const Trial& trial) -> std::optional<Result<Arranged>> {
    const bool canFuse = !program::isRccl(options.runtime);
    if ((!canFuse && !trial.style.fuses) || (trial.hasSmallParts && !hasFiner)) {
      return std::nullopt;
    }
    if (trial.hasSmallParts && !finer) {
      auto cut = makeStepWork(fabric, schedule, chunks, smallPart(needed), options, progress);
      if (!cut) {
        return Result<Arranged>(cut.error());
      }
      finer = std::make_unique<StepWork>(*std::move(cut));
    }
    return arrangeOnce(trial.hasSmallParts ? *finer : *work, trial.style, options, progress);
  };
  return arrange(kStepTrials, kFrugal, needed, arranger, progress);
}

/// @param chunks of each shard; all ends of pieces lie between two of them
Result<program::Program> lowerOnGrid(const fabric::Fabric& fabric, const StepSchedule& schedule, std::int64_t chunks,
                                     const Options& options, const Progress& progress) {
  if (const Outcome fits = checkChunks(schedule, chunks, options); !fits) {
    return fits.error();
  }
  auto arranged = arrangeSteps(fabric, schedule, static_cast<int>(chunks), options, progress);
  if (!arranged) {
    return arranged.error();
  }
  program::Program program = *std::move(arranged);
  const Collective collective = schedule.goal.collective();
  program.name = options.name.empty() ? makeName(fabric, collective, " " + schedule.method) : options.name;
  program.collective = collective;
  if (std::find(kForestCollectives.begin(), kForestCollectives.end(), collective) == kForestCollectives.end()) {
    program.collectiveText = toString(collective);
  }
  program.inPlace = options.inPlace;
  program.outOfPlace = !options.inPlace;
  program.root = schedule.goal.root().value_or(-1);
  if (const Outcome set = setWindow(program, options, "use fewer chunks or fewer instances"); !set) {
    return set.error();
  }
  // One instance was proven when it was arranged.
  if (const Outcome proved = options.instances > 1 ? proveProgress(program, progress) : Done{}; !proved) {
    return proved.error();
  }
  return program;
}

/// The grid of at most that number of chunks on which the schedule is fastest, among those looked at.
struct Grid {
  std::int64_t chunks = 0;
  StepSchedule schedule;
};
std::optional<Grid> bestGrid(const fabric::Fabric& fabric, const StepSchedule& schedule, std::int64_t max,
                             const Progress& progress) {
  constexpr std::int64_t kMaxGrids = 64;
  constexpr std::int64_t kMaxTransfers = 4'000'000;  // of all grids together
  const auto transfers = std::max<std::int64_t>(1, static_cast<std::int64_t>(schedule.transfers.size()));
  const std::int64_t grids = std::clamp<std::int64_t>(kMaxTransfers / transfers, 1, kMaxGrids);
  std::optional<Grid> best;
  for (std::int64_t chunks = max; chunks >= std::max<std::int64_t>(1, max - grids + 1); --chunks) {
    throwIfCancelled(progress);
    auto rounded = schedule::onGrid(fabric, schedule, chunks, progress);
    if (rounded && (!best || best->schedule.algbw < rounded->algbw)) {
      best = Grid{chunks, *std::move(rounded)};
    }
  }
  return best;
}

/// "percent" with two digits, rounded.
std::string percent(const Rational& share) {
  const double hundredths = std::round(share.toDouble() * 10000) / 100;
  std::string text = std::to_string(hundredths);
  return text.substr(0, text.find('.') + 3) + " %";
}

/// Says on how many chunks the schedule would fit, and what that costs.
Error withNearestGrid(const fabric::Fabric& fabric, const StepSchedule& schedule, std::int64_t exact,
                      const Options& options, Error refused, const Progress& progress) {
  for (std::int64_t max = std::min(exact - 1, maxChunks(schedule, options)); max >= 1; max /= 2) {
    const auto grid = bestGrid(fabric, schedule, max, progress);
    if (!grid) {
      break;
    }
    if (!lowerOnGrid(fabric, grid->schedule, grid->chunks, options, progress)) {
      continue;
    }
    const Rational loss = Rational(1) - grid->schedule.algbw / schedule.algbw;
    refused.fix += "; on " + std::to_string(grid->chunks) + " chunks of each shard instead of " +
                   std::to_string(exact) + " it fits (--chunks " + std::to_string(grid->chunks) + "), " +
                   (loss.isPositive() ? "and loses " + loss.toString() + " (" + percent(loss) + ") of its algbw"
                                      : "and loses nothing of its algbw");
    return refused;
  }
  return refused;
}

Result<program::Program> lowerSteps(const fabric::Fabric& fabric, const StepSchedule& given, const Options& asked,
                                    const Progress& progress) {
  if (const Outcome usable = checkOptions(asked); !usable) {
    return usable.error();
  }
  if (!given.fabricDigest.empty() && given.fabricDigest != fabric.digest()) {
    return Error{ErrorCode::badInput,
                 "the schedule was made for another fabric (digest " + given.fabricDigest + ", this one has " +
                     fabric.digest() + ")",
                 "generate the schedule again for this fabric"};
  }
  if (const Outcome sound = checkShape(fabric, given); !sound) {
    return sound.error();
  }
  const auto protocol = chooseProtocol(fabric, given.goal.collective(), asked.protocol, asked.runtime);
  if (!protocol) {
    return protocol.error();
  }
  Options options = asked;
  options.protocol = *protocol;
  options.multiprocessors = multiprocessorsOf(fabric, asked);
  options.inPlace = asked.inPlace && hasInPlace(given.goal.collective());
  if (const Outcome known = checkCollective(given, options); !known) {
    return known.error();
  }
  progress.report("lowering", 0);
  std::optional<StepSchedule> rounded;
  if (asked.chunks > 0) {
    auto made = schedule::onGrid(fabric, given, asked.chunks, progress);
    if (!made) {
      return made.error();
    }
    rounded = *std::move(made);
  }
  const StepSchedule& schedule = rounded ? *rounded : given;
  const std::int64_t chunks = rounded ? asked.chunks : schedule::exactGrid(schedule);
  auto lowered = lowerOnGrid(fabric, schedule, chunks, options, progress);
  if (!lowered && lowered.error().code == ErrorCode::limit) {
    return withNearestGrid(fabric, schedule, chunks, options, lowered.error(), progress);
  }
  progress.report("lowering", 1);
  return lowered;
}

}  // namespace

Result<program::Program> lower(const fabric::Fabric& fabric, const StepSchedule& schedule, const Options& options,
                               const Progress& progress) {
  return guarded([&] { return lowerSteps(fabric, schedule, options, progress); },
                 {.overflowFix = "use fewer chunks",
                  .memory = "not enough memory to lower the schedule",
                  .memoryFix = "use fewer chunks or a smaller fabric",
                  .cancelled = "lowering was cancelled"});
}

Result<program::Program> lower(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule,
                               const Options& options, const Progress& progress) {
  return std::visit([&](const auto& kind) { return lower(fabric, kind, options, progress); }, schedule);
}

}  // namespace coppice::lowering
