// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/checked.hpp"
#include "plan/plan.hpp"

namespace coppice::executor {
namespace {

constexpr std::int64_t kLineBytes = 64;

std::int64_t roundUpTo(std::int64_t value, std::int64_t unit) {
  return checkedMul(checkedAdd(value, unit - 1) / unit, unit);
}

std::int64_t divideUp(std::int64_t value, std::int64_t by) {
  return value / by + (value % by != 0 ? 1 : 0);
}

bool isShared(Collective operation) {
  return operation == Collective::allgather || operation == Collective::reduceScatter ||
         operation == Collective::alltoall || operation == Collective::gather || operation == Collective::scatter;
}

bool hasScratch(const Plan& plan) {
  return std::any_of(plan.ranks.begin(), plan.ranks.end(), [](const PlanRank& rank) { return rank.scratchChunks > 0; });
}

}  // namespace

Range Geometry::chunk(int index) const {
  const std::int64_t start = index / chunksPerPart * partElements;
  const std::int64_t within = index % chunksPerPart * chunkElements;
  return {.begin = start + std::min(within, partElements),
          .end = start + std::min(within + chunkElements, partElements)};
}

Range Geometry::slice(program::Buffer buffer, int index, std::int64_t tile) const {
  const Range whole = buffer == program::Buffer::scratch
                          ? Range{.begin = index * chunkElements, .end = (index + 1) * chunkElements}
                          : chunk(index);
  const std::int64_t begin = std::min(whole.begin + tile * tileElements, whole.end);
  return {.begin = begin, .end = std::min(begin + tileElements, whole.end)};
}

Range Geometry::slice(program::Buffer buffer, int index, int chunks, std::int64_t tile) const {
  if (chunks <= 1) {
    return slice(buffer, index, tile);
  }
  return {.begin = slice(buffer, index, tile).begin, .end = slice(buffer, index + chunks - 1, tile).end};
}

Result<Geometry> makeGeometry(const Plan& plan, const SizeOptions& options) {
  try {
    if (options.bytes < 0 || options.pieceBytes < 1 || options.depth < 1) {
      return Error{.code = ErrorCode::badUsage, .message = "sizes and depths cannot be negative"};
    }
    Geometry result;
    result.type = options.type;
    result.elementBytes = elementBytes(options.type);
    result.depth = options.depth;
    const std::int64_t parts = isShared(plan.operation) ? plan.rankCount() : 1;
    result.chunksPerPart = plan.chunksPerPart;
    result.count = options.bytes / (result.elementBytes * parts);
    result.chunkElements = divideUp(result.count, plan.chunksPerPart);
    if (plan.needsEqualChunks) {
      result.count = checkedMul(result.chunkElements, std::int64_t{plan.chunksPerPart});
    }
    result.partElements = result.count;
    result.size = checkedMul(checkedMul(result.count, parts), result.elementBytes);
    result.inputElements = checkedMul(result.count, std::int64_t{plan.inputChunks / plan.chunksPerPart});
    result.outputElements = checkedMul(result.count, std::int64_t{plan.outputChunks / plan.chunksPerPart});

    const std::int64_t chunkBytes = checkedMul(result.chunkElements, result.elementBytes);
    result.tiles = std::max<std::int64_t>(1, divideUp(chunkBytes, options.pieceBytes));
    result.tileElements = std::max<std::int64_t>(1, result.chunkElements);
    if (result.tiles > 1) {
      const std::int64_t even = divideUp(result.chunkElements, result.tiles);
      result.tileElements = roundUpTo(even, std::max<std::int64_t>(1, kLineBytes / result.elementBytes));
      result.tiles = divideUp(result.chunkElements, result.tileElements);
    }
    const bool equalChunks = result.partElements % plan.chunksPerPart == 0;
    if (result.tiles == 1 && chunkBytes > 0 && (equalChunks || !hasScratch(plan))) {
      result.chunksPerMessage = static_cast<int>(
          std::clamp<std::int64_t>(options.pieceBytes / chunkBytes, 1, std::max(1, plan.chunksPerLoop)));
    }
    result.slotBytes = roundUpTo(
        checkedMul(checkedMul(result.tileElements, result.elementBytes), std::int64_t{result.chunksPerMessage}),
        kLineBytes);
    int maxScratch = 0;
    for (const PlanRank& rank : plan.ranks) {
      maxScratch = std::max(maxScratch, rank.scratchChunks);
    }
    result.maxScratchBytes =
        checkedMul(checkedMul(result.chunkElements, std::int64_t{maxScratch}), result.elementBytes);
    return result;
  } catch (const OverflowError&) {
    return Error{
        .code = ErrorCode::overflow, .message = "the size leaves the 64-bit range", .fix = "use a smaller size"};
  }
}

std::int64_t aliasOffset(const Plan& plan, const Geometry& geometry, int rank) {
  return isShared(plan.operation) && plan.operation != Collective::alltoall ? rank * geometry.partElements : 0;
}

Traffic trafficOf(const Plan& plan, const Geometry& geometry) {
  using program::StepType;
  Traffic traffic;
  for (const PlanStep& step : plan.steps) {
    const bool readsSource = program::usesSource(step.type);
    std::int64_t elements = 0;
    for (int chunk = 0; chunk < step.count; ++chunk) {
      const program::Buffer buffer = readsSource ? step.srcBuffer : step.dstBuffer;
      const int index = (readsSource ? step.srcOffset : step.dstOffset) + chunk;
      elements += buffer == program::Buffer::scratch ? geometry.chunkElements : geometry.chunk(index).size();
    }
    const std::int64_t bytes = elements * geometry.elementBytes;
    switch (step.type) {
      case StepType::send:
        traffic.throughSlots += 2 * bytes;
        traffic.direct += step.sourceStable ? 0 : 2 * bytes;
        break;
      case StepType::recv:
      case StepType::copy:
        traffic.throughSlots += 2 * bytes;
        traffic.direct += 2 * bytes;
        break;
      case StepType::recvCopySend:
        traffic.throughSlots += 3 * bytes;
        traffic.direct += (step.sourceStable ? 2 : 3) * bytes;
        break;
      case StepType::recvReduceSend:
      case StepType::recvReduceCopy:
      case StepType::reduce:
        traffic.throughSlots += 3 * bytes;
        traffic.direct += 3 * bytes;
        break;
      case StepType::recvReduceCopySend:
        traffic.throughSlots += 4 * bytes;
        traffic.direct += (step.sourceStable ? 3 : 4) * bytes;
        break;
      case StepType::nop:
        break;
    }
  }
  return traffic;
}

}  // namespace coppice::executor
