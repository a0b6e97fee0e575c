// SPDX-License-Identifier: Apache-2.0
#include "mscclpp/plan_shell.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/checked.hpp"

namespace coppice::executor {
namespace {

/// Chunks of an allgather's inputs, or a reduce_scatter's outputs, before those of the rank.
std::int64_t chunksBefore(const mscclpp::ExecutionPlan& plan, bool ofInputs, int rank) {
  std::int64_t before = 0;
  for (int other = 0; other < rank; ++other) {
    const mscclpp::Gpu& gpu = plan.gpus[other];
    before += gpu.hasNoShare ? 0 : ofInputs ? gpu.inputChunks : gpu.outputChunks;
  }
  return before;
}

bool gathers(const mscclpp::ExecutionPlan& plan) {
  return parseCollective(plan.collective) == Collective::allgather;
}

/// Unequal shares: every rank has room for all of them in both buffers, and uses its own place in one.
Plan shellOfShares(const mscclpp::ExecutionPlan& plan, Plan shell) {
  const bool gathered = gathers(plan);
  const auto ranks = static_cast<int>(plan.gpus.size());
  shell.operation = Collective::custom;
  shell.chunksPerLoop = static_cast<int>(chunksBefore(plan, gathered, ranks));
  shell.chunksPerPart = shell.chunksPerLoop;
  shell.inputChunks = shell.chunksPerLoop;
  shell.outputChunks = shell.chunksPerLoop;
  shell.needsEqualChunks = true;
  shell.ranks.resize(plan.gpus.size());
  std::vector<int> all(plan.gpus.size());
  std::iota(all.begin(), all.end(), 0);
  for (int rank = 0; rank < ranks; ++rank) {
    const mscclpp::Gpu& gpu = plan.gpus[rank];
    if (gpu.hasNoShare) {
      continue;
    }
    shell.custom.push_back({.first = static_cast<int>(chunksBefore(plan, gathered, rank)),
                            .count = gathered ? gpu.inputChunks : gpu.outputChunks,
                            .sources = gathered ? std::vector<int>{rank} : all,
                            .destinations = gathered ? all : std::vector<int>{rank},
                            .combines = !gathered});
  }
  return shell;
}

}  // namespace

bool hasUnequalShares(const mscclpp::ExecutionPlan& plan) {
  return std::any_of(plan.gpus.begin(), plan.gpus.end(), [&](const mscclpp::Gpu& gpu) {
    return gpu.hasNoShare || gpu.inputChunks != plan.gpus[0].inputChunks ||
           gpu.outputChunks != plan.gpus[0].outputChunks;
  });
}

Plan shellOf(const mscclpp::ExecutionPlan& plan, int root, std::vector<verify::CustomShard> custom) {
  Plan shell;
  shell.name = plan.name;
  shell.operation = parseCollective(plan.collective).value_or(Collective::custom);
  shell.place = plan.inPlace ? Place::inPlace : Place::outOfPlace;
  shell.root = root;
  shell.custom = std::move(custom);
  const mscclpp::Gpu& first = plan.gpus.front();
  const auto ranks = static_cast<int>(plan.gpus.size());
  shell.inputChunks = first.inputChunks;
  shell.outputChunks = first.outputChunks;
  shell.chunksPerLoop = std::max(first.inputChunks, first.outputChunks);
  if (hasUnequalShares(plan)) {
    return shellOfShares(plan, std::move(shell));
  }
  const bool isShared = shell.operation == Collective::allgather || shell.operation == Collective::reduceScatter ||
                        shell.operation == Collective::alltoall || movesShards(shell.operation);
  shell.chunksPerPart = isShared ? shell.chunksPerLoop / ranks : shell.chunksPerLoop;
  shell.needsEqualChunks = true;
  shell.ranks.resize(plan.gpus.size());
  return shell;
}

std::int64_t sizeUnit(const mscclpp::ExecutionPlan& plan) {
  const mscclpp::Gpu& first = plan.gpus.front();
  return plan.alignment * std::max(first.inputChunks, first.outputChunks);
}

Outcome requireWholeChunks(const mscclpp::ExecutionPlan& plan, std::int64_t chunkBytes) {
  if (chunkBytes == 0 || chunkBytes % plan.alignment != 0) {
    return Error{.code = ErrorCode::badUsage,
                 .message = "chunks of " + std::to_string(chunkBytes) + " bytes; MSCCL++ cuts multiples of " +
                            std::to_string(plan.alignment),
                 .fix = "use sizes that are multiples of " + std::to_string(sizeUnit(plan)) + " bytes"};
  }
  return Done{};
}

PlanMemory memoryOf(const mscclpp::ExecutionPlan& plan, int rank, std::int64_t chunkBytes, std::byte* block,
                    const BufferLayout& layout, std::byte* scratch) {
  PlanMemory memory = {block + layout.input, block + layout.output, scratch};
  if (hasUnequalShares(plan)) {
    const bool gathered = gathers(plan);
    (gathered ? memory.input : memory.output) += chunksBefore(plan, gathered, rank) * chunkBytes;
  }
  return memory;
}

}  // namespace coppice::executor
