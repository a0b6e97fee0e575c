// SPDX-License-Identifier: Apache-2.0
#include "workflow/mscclpp_target.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.hpp"
#include "fabric/gpu_boxes.hpp"
#include "mscclpp/from_program.hpp"
#include "mscclpp/from_trees.hpp"
#include "mscclpp/plan_json.hpp"
#include "simulate/plan_job.hpp"
#include "verify/custom_goal.hpp"
#include "verify/mscclpp_verifier.hpp"
#include "workflow/clock.hpp"
#include "workflow/guarded.hpp"

namespace coppice::workflow {
namespace {

/// Packets double the bytes.
constexpr std::int64_t kMaxPacketBytes = std::int64_t{4} << 20;
/// Pieces of an allreduce by switches between boxes, up to this number of bytes: more keep the links busier, and cost a
/// wait each. Found by simulation on two and four DGX H100.
constexpr std::pair<std::int64_t, int> kPieces[] = {{std::int64_t{4} << 20, 2}, {std::int64_t{64} << 20, 8}};
constexpr int kMostPieces = 16;

/// What a plan has most of, over all ranks.
struct PlanCounts {
  int memory = 0;
  int port = 0;
  int groups = 0;
  int scratch = 0;
  int blockChannels = 0;  ///< of one type, of a threadblock
  int blockBuffers = 0;
  int opChannels = 0;
  int opRuns = 0;
};

PlanCounts countsOf(const mscclpp::ExecutionPlan& plan) {
  PlanCounts counts;
  const auto raise = [](int& most, std::size_t value) { most = std::max(most, static_cast<int>(value)); };
  const auto visit = [&](const mscclpp::Operation& op) {
    raise(counts.opChannels, op.channels.size());
    raise(counts.opRuns, std::max(op.sources.size(), op.destinations.size()));
  };
  for (const mscclpp::Gpu& gpu : plan.gpus) {
    raise(counts.memory, gpu.memoryPeers.size());
    raise(counts.port, gpu.portPeers.size());
    raise(counts.groups, gpu.switchGroups.size());
    counts.scratch = std::max(counts.scratch, gpu.scratchChunks);
    for (const mscclpp::ThreadBlock& block : gpu.blocks) {
      for (const auto* list : {&block.memoryChannels, &block.portChannels, &block.switchGroups}) {
        raise(counts.blockChannels, list->size());
      }
      for (const auto* list : {&block.memoryBuffers, &block.portBuffers}) {
        raise(counts.blockBuffers, list->size());
      }
      for (const mscclpp::Operation& op : block.ops) {
        visit(op);
        std::for_each(op.inner.begin(), op.inner.end(), visit);
      }
    }
  }
  return counts;
}

Facts planFacts(const mscclpp::ExecutionPlan& plan, const verify::MscclppVerdict& verdict, const PlanCounts& counts) {
  Facts facts = {
      {.key = "name", .value = plan.name},
      {.key = "protocol", .value = plan.protocol},
      {.key = "in_place", .value = plan.inPlace},
      {.key = "threadblocks",
       .value = verdict.mostBlocks,
       .label = "plan",
       .text = plan.protocol + (plan.inPlace ? ", in place; " : ", out of place; ") + "at most " +
               counted(verdict.mostBlocks, "threadblock") + " of " + counted(verdict.mostOps, "operation") +
               " on a rank; " + counted(counts.memory, "memory channel") + ", " + counted(counts.port, "port channel") +
               (counts.groups > 0 ? ", " + counted(counts.groups, "switch group") : std::string())},
      {.key = "operations", .value = verdict.mostOps},
      {.key = "memory_channels", .value = counts.memory},
      {.key = "port_channels", .value = counts.port},
      {.key = "switch_groups", .value = counts.groups},
      {.key = "scratch_chunks", .value = counts.scratch},
      {.key = "min_bytes", .value = plan.minBytes},
      {.key = "max_bytes", .value = plan.maxBytes}};
  if (verdict.root >= 0) {
    facts.push_back({.key = "root", .value = verdict.root});
  }
  facts.push_back({.key = "result_judged", .value = verdict.isResultJudged});
  return facts;
}

std::vector<TargetLimit> planLimits(const verify::MscclppVerdict& verdict, const PlanCounts& counts) {
  const auto row = [](const char* name, int value, int limit, const char* detail) {
    return TargetLimit{name, std::to_string(value), std::to_string(limit), detail, value <= limit};
  };
  return {row("Threadblocks per rank", verdict.mostBlocks, verdict.multiprocessors,
              "They wait for each other, so that a GPU must run all of them at once; nothing checks it."),
          row("Operations per threadblock", verdict.mostOps, mscclpp::kMaxOps, "Those of pipelines count too."),
          row("Channels per threadblock", counts.blockChannels, mscclpp::kMaxChannelsOfBlock,
              "Of each type; the executor does not check."),
          row("Remote buffers per threadblock", counts.blockBuffers, mscclpp::kMaxBuffersOfBlock,
              "Of each type; the executor does not check."),
          row("Channels per operation", counts.opChannels, mscclpp::kMaxChannelsOfOp, "The executor does not check."),
          row("Buffers per operation", counts.opRuns, mscclpp::kMaxRunsOfOp,
              "Sources, or destinations; the executor does not check.")};
}

std::vector<std::string> planNotes(const mscclpp::ExecutionPlan& plan) {
  std::vector<std::string> notes = {
      "MSCCL++ always sums, whatever the call asks for, and takes int32 as uint32",
      "load it by name in the process (ExecutionPlan), or register it with AlgorithmCollectionBuilder, as the bundle "
      "of coppice-cli run does; two plans of a process need two names"};
  const bool hasGroups = std::any_of(plan.gpus.begin(), plan.gpus.end(),
                                     [](const mscclpp::Gpu& gpu) { return !gpu.switchGroups.empty(); });
  if (hasGroups) {
    notes.emplace_back(
        "switch groups need buffers that MSCCL++ allocated (GpuBuffer), compute capability 9.0 or "
        "later, and another type than uint8");
  }
  if (plan.inPlace && plan.collective == "reducescatter") {
    notes.emplace_back(
        "NCCL's in-place reduce_scatter counts as in place on rank 0 alone: for its interface, export --out-of-place");
  }
  return notes;
}

std::string runText(const mscclpp::Gpu& gpu, const mscclpp::ThreadBlock& block, const mscclpp::Operation& op,
                    const mscclpp::ChunkRun& run) {
  std::string place;
  program::Buffer buffer = run.buffer;
  const auto listed = [&](const std::vector<int>& list, std::size_t size) {
    return run.id >= 0 && static_cast<std::size_t>(run.id) < list.size() && list[run.id] >= 0 &&
           static_cast<std::size_t>(list[run.id]) < size;
  };
  if (run.place == mscclpp::ChunkRun::Place::remote) {
    const auto& list = op.channelType == mscclpp::ChannelType::port ? block.portBuffers : block.memoryBuffers;
    if (!listed(list, gpu.remoteBuffers.size())) {
      return "buffer " + std::to_string(run.id);
    }
    const mscclpp::RemoteBuffer& remote = gpu.remoteBuffers[list[run.id]];
    buffer = remote.buffer;
    place = "rank " + std::to_string(remote.rank) + " ";
  } else if (run.place == mscclpp::ChunkRun::Place::switched) {
    if (!listed(block.switchGroups, gpu.switchGroups.size())) {
      return "group " + std::to_string(run.id);
    }
    const mscclpp::SwitchGroup& group = gpu.switchGroups[block.switchGroups[run.id]];
    buffer = group.buffer;
    place = "group of " + std::to_string(group.ranks.size()) + " ";
  }
  return place + program::letter(buffer) + "[" + std::to_string(run.index) +
         (run.size == 1 ? std::string() : "-" + std::to_string(std::int64_t{run.index} + run.size - 1)) + "]";
}

std::string operationText(const mscclpp::Gpu& gpu, const mscclpp::ThreadBlock& block, const mscclpp::Operation& op) {
  std::string text(mscclpp::toString(op.type));
  const auto add = [&](const char* before, const std::vector<mscclpp::ChunkRun>& runs) {
    for (const mscclpp::ChunkRun& run : runs) {
      text += (&run == runs.data() ? before : ", ") + runText(gpu, block, op, run);
    }
  };
  add(" ", op.sources);
  add(" to ", op.destinations);
  const bool isPort = op.channelType == mscclpp::ChannelType::port;
  const std::vector<int>& channels = isPort ? block.portChannels : block.memoryChannels;
  const std::vector<int>& peers = isPort ? gpu.portPeers : gpu.memoryPeers;
  for (const int channel : op.channels) {
    const bool isKnown = channel >= 0 && static_cast<std::size_t>(channel) < channels.size() &&
                         channels[channel] >= 0 && static_cast<std::size_t>(channels[channel]) < peers.size();
    text += (&channel == op.channels.data() ? (isPort ? ", by port with rank " : ", with rank ") : ", ") +
            (isKnown ? std::to_string(peers[channels[channel]]) : "?");
  }
  for (const int semaphore : op.semaphores) {
    text += (&semaphore == op.semaphores.data() ? " semaphore " : ", ") + std::to_string(semaphore);
  }
  if (op.type == mscclpp::OpType::barrier) {
    text += " " + std::to_string(op.barrier) + " of " + counted(op.barrierBlocks, "threadblock");
  }
  if (op.groupSize > 1) {
    text += ", part " + std::to_string(op.groupIndex) + " of " + std::to_string(op.groupSize);
  }
  return text;
}

/// By threadblock; operations of a pipeline stand behind it, indented.
std::vector<std::vector<std::string>> operationsOf(const mscclpp::ExecutionPlan& plan, int rank) {
  std::vector<std::vector<std::string>> blocks;
  const mscclpp::Gpu& gpu = plan.gpus[rank];
  for (const mscclpp::ThreadBlock& block : gpu.blocks) {
    std::vector<std::string>& lines = blocks.emplace_back();
    for (const mscclpp::Operation& op : block.ops) {
      lines.push_back(operationText(gpu, block, op));
      for (const mscclpp::Operation& inner : op.inner) {
        lines.push_back("  " + operationText(gpu, block, inner));
      }
    }
  }
  return blocks;
}

TargetFile fileOf(std::shared_ptr<const mscclpp::ExecutionPlan> plan, verify::MscclppVerdict verdict) {
  const PlanCounts counts = countsOf(*plan);
  TargetFile file{.isOk = verdict.ok,
                  .isRunnable = verdict.isRunnable,
                  .ranks = verdict.ranks,
                  .root = verdict.root,
                  .collective = plan->collective,
                  .facts = planFacts(*plan, verdict, counts),
                  .limits = planLimits(verdict, counts),
                  .notes = planNotes(*plan)};
  if (verdict.ok) {
    file.proof =
        "symbolically on " + counted(verdict.ranks, "rank") + ", launch after launch: " +
        (verdict.isResultJudged ? "every output chunk contains exactly what " + named(plan->collective) + " requires, "
                                : std::string()) +
        "without deadlock or race, all channels and semaphores balanced";
  }
  file.findings = std::move(verdict.findings);
  file.operations = [plan](int rank) { return operationsOf(*plan, rank); };
  file.subject = [plan = std::move(plan)](const fabric::Fabric& fabric, const simulate::Model& model) {
    return simulate::subjectOf(fabric, plan, model);
  };
  return file;
}

Result<TargetFile> readPlanFile(const std::string& text, const std::string& fileName, const TargetCheckOptions& options,
                                const Progress& progress) {
  auto plan = mscclpp::readPlan(text, fileName);
  if (!plan) {
    return plan.error();
  }
  if (options.root >= static_cast<int>(plan->gpus.size())) {
    return Error{ErrorCode::badUsage, "--root: the plan has " + counted(static_cast<int>(plan->gpus.size()), "rank"),
                 "give a smaller number"};
  }
  verify::MscclppCheckOptions checks{.multiprocessors = options.multiprocessors, .root = options.root};
  if (options.goal && parseCollective(plan->collective).value_or(Collective::custom) != Collective::custom) {
    return Error{ErrorCode::badUsage, "--goal: " + inQuotes(plan->collective) + " says itself what the plan computes",
                 "leave it out; it is for plans of custom collectives"};
  }
  if (options.goal) {
    const auto ranks = static_cast<int>(plan->gpus.size());
    const auto table = options.goal(ranks);
    if (!table) {
      return table.error();
    }
    auto rows = verify::customGoal(*table, ranks, plan->gpus.front().inputChunks);
    if (!rows) {
      return rows.error();
    }
    checks.custom = *std::move(rows);
  }
  auto verdict = verify::verifyExecutionPlan(*plan, checks, progress);
  if (!verdict) {
    return verdict.error();
  }
  return fileOf(std::make_shared<const mscclpp::ExecutionPlan>(*std::move(plan)), *std::move(verdict));
}

/// By rank, where a collective that shares out data does so unequally; else empty.
std::vector<std::int64_t> amountsOf(const schedule::AnySchedule& schedule) {
  std::vector<std::int64_t> amounts;
  if (const auto* forests = std::get_if<schedule::Schedule>(&schedule)) {
    amounts = forests->amounts;
  } else {
    const auto given = std::get<schedule::StepSchedule>(schedule).goal.amounts();
    amounts.assign(given.begin(), given.end());
  }
  const bool isEqual = std::adjacent_find(amounts.begin(), amounts.end(), std::not_equal_to<>()) == amounts.end();
  return isEqual ? std::vector<std::int64_t>{} : amounts;
}

/// Writes, reads back, and judges what was read.
/// @param custom what a custom collective demands; null for others
Result<ExportedFile> judged(const Result<mscclpp::ExecutionPlan>& plan, int multiprocessors, int root,
                            const schedule::CollectiveTable* custom, const std::string& fileName, Clock& clock,
                            const Progress& progress) {
  if (!plan) {
    return plan.error();
  }
  ExportedFile exported{.text = mscclpp::writePlan(*plan), .file = {}};
  exported.lowering = clock.lap();
  progress.report("verifying", 0);
  TargetCheckOptions checks{.multiprocessors = multiprocessors, .root = root};
  if (custom != nullptr) {
    checks.goal = [custom](int /*ranks*/) { return Result<schedule::CollectiveTable>(*custom); };
  }
  auto file = readPlanFile(exported.text, fileName, checks, progress);
  if (!file) {
    return file.error();
  }
  exported.verifying = clock.lap();
  if (!file->isOk) {
    const Finding* fault = firstFault(file->findings);
    return Error{ErrorCode::verification,
                 "the plan did not pass the verifier" + (fault == nullptr ? std::string() : ": " + fault->text),
                 "nothing was written; please report this schedule", fault == nullptr ? Place{} : fault->where};
  }
  exported.file = *std::move(file);
  return exported;
}

Result<ExportedFile> writeProgramPlan(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule,
                                      const lowering::Options& options, const std::string& fileName,
                                      const Progress& progress) {
  Clock clock;
  progress.report("lowering", 0);
  lowering::Options lowered = options;
  lowered.runtime = program::Runtime::mscclpp;
  lowered.inPlace = lowered.inPlace && !movesShards(schedule::collectiveOf(schedule));
  const auto program = lowering::lower(fabric, schedule, lowered, progress);
  if (!program) {
    Error error = program.error();
    if (error.code == ErrorCode::unavailable && schedule::collectiveOf(schedule) == Collective::allreduce) {
      error.fix = "export it with --target mscclpp-nvls; or " + error.fix;
    }
    return error;
  }
  const mscclpp::PlanOptions planned{.boxOf = fabric::gpuBoxes(fabric).boxOf,
                                     .amounts = amountsOf(schedule),
                                     .maxBlocks = lowering::multiprocessorsOf(fabric, options)};
  const auto* steps = std::get_if<schedule::StepSchedule>(&schedule);
  const bool isCustom = schedule::collectiveOf(schedule) == Collective::custom && steps != nullptr;
  return judged(mscclpp::fromProgram(*program, planned), planned.maxBlocks, program->root,
                isCustom ? &steps->goal : nullptr, fileName, clock, progress);
}

int piecesUpTo(std::int64_t bytes) {
  for (const auto& [most, pieces] : kPieces) {
    if (bytes <= most) {
      return pieces;
    }
  }
  return kMostPieces;
}

Result<ExportedFile> writeSwitchPlan(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule,
                                     const lowering::Options& options, const std::string& fileName,
                                     const Progress& progress) {
  const auto* forests = std::get_if<schedule::Schedule>(&schedule);
  if (forests == nullptr) {
    return Error{ErrorCode::badUsage, "steps use no switch that sums or copies", "export them with --target mscclpp"};
  }
  if (options.protocol && *options.protocol != program::Protocol::simple) {
    return Error{ErrorCode::badUsage, "switch groups sum no packets", "leave --protocol out, or give Simple"};
  }
  return guarded<ExportedFile>([&]() -> Result<ExportedFile> {
    Clock clock;
    progress.report("lowering", 0);
    const std::string name =
        options.name.empty() ? "coppice allreduce on " + fabric.name() + " by switches" : options.name;
    const std::int64_t most = options.maxBytes == lowering::kDefaultMaxBytes ? 0 : options.maxBytes;
    const int multiprocessors = lowering::multiprocessorsOf(fabric, options);
    const auto plan = mscclpp::fromTrees(fabric, *forests,
                                         {.boxOf = fabric::gpuBoxes(fabric).boxOf,
                                          .maxBlocks = multiprocessors,
                                          .inPlace = options.inPlace,
                                          .instances = options.instances,
                                          .pieces = piecesUpTo(options.maxBytes),
                                          .minBytes = options.minBytes,
                                          .maxBytes = most,
                                          .name = name},
                                         progress);
    return judged(plan, multiprocessors, -1, nullptr, fileName, clock, progress);
  });
}

}  // namespace

std::vector<Target> mscclppTargets() {
  using program::Protocol;
  const Target plain{.id = "mscclpp",
                     .title = "MSCCL++ (0.8 and later)",
                     .what = "an execution plan of MSCCL++",
                     .help = "an execution plan of MSCCL++",
                     .format = "mscclpp",
                     .extension = ".plan.json",
                     .protocols = {Protocol::simple, Protocol::ll},
                     .mostPacketBytes = kMaxPacketBytes,
                     .write = writeProgramPlan,
                     .isFile = mscclpp::looksLikePlan,
                     .read = readPlanFile,
                     .launch = mscclppLaunch};
  Target switches = plain;
  switches.id = "mscclpp-nvls";
  switches.title = "MSCCL++ with NVLink SHARP";
  switches.what = "an execution plan of MSCCL++ with switch channels";
  switches.help = "the same of an allreduce that NVSwitches sum and copy";
  switches.protocols = {Protocol::simple};
  switches.write = writeSwitchPlan;
  return {plain, switches};
}

}  // namespace coppice::workflow
