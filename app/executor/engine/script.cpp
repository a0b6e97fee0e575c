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
      const PlanStep& step = plan.steps[static_cast<std::size_t>(index)];
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
