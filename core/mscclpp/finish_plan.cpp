// SPDX-License-Identifier: Apache-2.0
#include "mscclpp/finish_plan.hpp"

#include <algorithm>
#include <utility>

namespace coppice::mscclpp {

namespace {

/// Offsets and sizes have 32 bits.
constexpr std::uint64_t kMaxBufferBytes = (std::uint64_t{1} << 32) - 16;
/// Operations at each end of a threadblock that was cut: a semaphore and a nop.
constexpr int kSpareOps = 2;

}  // namespace

int remoteBuffer(Gpu& gpu, int peer, Buffer buffer, bool isPort) {
  std::vector<RemoteBuffer>& list = gpu.remoteBuffers;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].rank == peer && list[i].buffer == buffer) {
      (isPort ? list[i].byPort : list[i].byMemory) = true;
      return static_cast<int>(i);
    }
  }
  list.push_back({peer, buffer, !isPort, isPort});
  return static_cast<int>(list.size()) - 1;
}

void appendBlock(Gpu& gpu, const ThreadBlock& lists, const BlockWriter& writer) {
  std::vector<std::vector<Operation>> parts = writer.cut(kMaxOps, kSpareOps);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    ThreadBlock block = lists;
    if (part > 0) {
      const auto before = static_cast<int>(gpu.semaphores.size()) - 1;
      block.ops.push_back({.type = OpType::semAcquire, .semaphores = {before}});
      block.ops.push_back({.type = OpType::nop});
    }
    block.ops.insert(block.ops.end(), parts[part].begin(), parts[part].end());
    if (part + 1 < parts.size()) {
      gpu.semaphores.push_back(0);
      block.ops.push_back({.type = OpType::nop});
      block.ops.push_back({.type = OpType::semRelease, .semaphores = {static_cast<int>(gpu.semaphores.size()) - 1}});
    }
    gpu.blocks.push_back(std::move(block));
  }
}

Outcome requireBlocks(const Gpu& gpu, int rank, int maxBlocks, std::string fix) {
  if (gpu.blocks.size() <= static_cast<std::size_t>(maxBlocks)) {
    return Done{};
  }
  return Error{ErrorCode::limit,
               "rank " + std::to_string(rank) + " needs " + std::to_string(gpu.blocks.size()) +
                   " threadblocks of at most 64 operations; a GPU runs " + std::to_string(maxBlocks) + " at once",
               std::move(fix),
               {.element = {RefKind::rank, rank}}};
}

Outcome setWindow(ExecutionPlan& plan, const WindowRequest& request) {
  std::uint64_t largest = 1;
  for (const Gpu& gpu : plan.gpus) {
    const std::uint64_t scratch = static_cast<std::uint64_t>(gpu.scratchChunks) * (plan.hasPackets() ? 4 : 1);
    largest = std::max(
        {largest, static_cast<std::uint64_t>(gpu.inputChunks), static_cast<std::uint64_t>(gpu.outputChunks), scratch});
  }
  const std::uint64_t chunkBytes = kMaxBufferBytes / largest / 16 * 16;
  const std::uint64_t mostBytes = chunkBytes * static_cast<std::uint64_t>(request.chunksPerLoop);
  plan.minBytes = request.minBytes;
  plan.maxBytes = request.maxBytes <= 0 ? mostBytes : std::min(mostBytes, static_cast<std::uint64_t>(request.maxBytes));
  if (chunkBytes == 0 || plan.maxBytes < static_cast<std::uint64_t>(plan.minBytes)) {
    return Error{ErrorCode::limit,
                 "the executor addresses 32 bits: no more than " + std::to_string(mostBytes) + " bytes of this plan",
                 "give a smaller --min-bytes, or a schedule that needs less scratch"};
  }
  return Done{};
}

}  // namespace coppice::mscclpp
