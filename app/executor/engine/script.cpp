// SPDX-License-Identifier: Apache-2.0
#include "engine/script.hpp"

#include <algorithm>
#include <limits>

namespace coppice::executor {
namespace {

/// A run of chunks in a buffer, in bytes.
struct Stretch {
  std::int64_t begin = 0;
  std::int64_t bytes = 0;
};

Stretch stretchOf(const Geometry& geometry, program::Buffer buffer, int first, int chunks) {
  const auto whole = [&](int index) {
    return buffer == program::Buffer::scratch
               ? Range{.begin = index * geometry.chunkElements, .end = (index + 1) * geometry.chunkElements}
               : geometry.chunk(index);
  };
  const std::int64_t begin = whole(first).begin;
  return {.begin = begin * geometry.elementBytes,
          .bytes = (whole(first + chunks - 1).end - begin) * geometry.elementBytes};
}

/// Chunk number in the longer of the caller's buffers; -1 in scratch.
int laneOf(const Plan& plan, int rank, program::Buffer buffer, int offset) {
  if (buffer == program::Buffer::scratch) {
    return -1;
  }
  const int chunks = buffer == program::Buffer::input ? plan.inputChunks : plan.outputChunks;
  const bool isShare = chunks < std::max(plan.inputChunks, plan.outputChunks);
  return offset + (isShare ? rank * plan.chunksPerPart : 0);
}

int laneOf(const Plan& plan, int rank, const PlanStep& step) {
  int lane = -1;
  if (program::usesDestination(step.type)) {
    lane = laneOf(plan, rank, step.dstBuffer, step.dstOffset);
  }
  if (lane < 0 && program::usesSource(step.type)) {
    lane = laneOf(plan, rank, step.srcBuffer, step.srcOffset);
  }
  return lane;
}

}  // namespace

Script makeScript(const Plan& plan, const Geometry& geometry, bool byPointer) {
  Script script;
  script.tiles = geometry.tiles;
  script.tileBytes = geometry.tileElements * geometry.elementBytes;
  script.slotBytes = geometry.slotBytes;
  script.depth = geometry.depth;
  for (const PlanBlock& block : plan.blocks) {
    ScriptBlock out = {.firstOp = static_cast<std::int32_t>(script.ops.size())};
    for (int index = block.firstStep; index < block.endStep; ++index) {
      const PlanStep& step = plan.steps[index];
      Op op = {.type = step.type,
               .srcBuffer = step.srcBuffer,
               .dstBuffer = step.dstBuffer,
               .byPointer = byPointer && step.sourceStable,
               .isFinal = step.isFinal,
               .isFirst = true,
               .step = index,
               .number = index - block.firstStep,
               .waitBlock = step.waitBlock,
               .waitStep = step.waitStep};
      int lane = laneOf(plan, block.rank, step);
      if (lane < 0 && step.peerRecv >= 0 && block.recvConnection >= 0) {
        lane = laneOf(plan, plan.connections[block.recvConnection].sendRank, plan.steps[step.peerRecv]);
      }
      const bool hasSource = program::usesSource(step.type);
      const bool hasTarget = program::usesDestination(step.type);
      for (int chunk = 0; chunk < step.count && (hasSource || hasTarget); chunk += geometry.chunksPerMessage) {
        const int chunks = std::min(geometry.chunksPerMessage, step.count - chunk);
        op.bytes = std::numeric_limits<std::int64_t>::max();
        if (hasSource) {
          const Stretch place = stretchOf(geometry, step.srcBuffer, step.srcOffset + chunk, chunks);
          op.src = place.begin;
          op.bytes = std::min(op.bytes, place.bytes);
        }
        if (hasTarget) {
          const Stretch place = stretchOf(geometry, step.dstBuffer, step.dstOffset + chunk, chunks);
          op.dst = place.begin;
          op.bytes = std::min(op.bytes, place.bytes);
        }
        op.lane = lane < 0 ? -1 : lane + chunk;
        op.publishes = step.publishes && chunk + chunks >= step.count;
        script.ops.push_back(op);
        op.isFirst = false;
      }
      if (op.isFirst) {  // nop, or a step of no chunks: it still waits and publishes
        op.type = program::StepType::nop;
        op.publishes = step.publishes;
        script.ops.push_back(op);
      }
    }
    out.endOp = static_cast<std::int32_t>(script.ops.size());
    script.blocks.push_back(out);
  }
  return script;
}

}  // namespace coppice::executor
