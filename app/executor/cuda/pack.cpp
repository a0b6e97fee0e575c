// SPDX-License-Identifier: Apache-2.0
#include "cuda/pack.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace coppice::executor::cuda {
namespace {

using program::Buffer;
using program::StepType;

static_assert(static_cast<int>(OpType::send) == static_cast<int>(StepType::send) &&
              static_cast<int>(OpType::recvReduceCopySend) == static_cast<int>(StepType::recvReduceCopySend) &&
              static_cast<int>(OpType::reduce) == static_cast<int>(StepType::reduce) &&
              static_cast<int>(OpType::nop) == static_cast<int>(StepType::nop));
static_assert(static_cast<int>(Combine::sum) == static_cast<int>(ReduceOp::sum) &&
              static_cast<int>(Combine::max) == static_cast<int>(ReduceOp::max));
static_assert(static_cast<int>(Buffer::scratch) == 2);

constexpr int kMax = std::numeric_limits<std::uint16_t>::max();
constexpr std::int64_t kSlotAlignment = 128;
constexpr std::int64_t kSkewRoom = 16;

/// The place that a message shows: what a forwarding step has written, or what a send reads.
struct Shown {
  Buffer buffer = Buffer::input;
  int offset = 0;
};
Shown shownBy(const PlanStep& step) {
  return step.type == StepType::send ? Shown{step.srcBuffer, step.srcOffset} : Shown{step.dstBuffer, step.dstOffset};
}

std::uint8_t bits(Buffer buffer, unsigned at) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(buffer) << at);
}

}  // namespace

Result<PackedPlan> packPlan(const Plan& plan, const std::vector<bool>& canPull) {
  PackedPlan packed;
  packed.ops.reserve(plan.steps.size());
  packed.usesSlots.assign(plan.connections.size(), false);
  const auto fits = [](int value) { return value <= kMax; };
  const auto small = [](int value) { return static_cast<std::uint16_t>(std::max(value, 0)); };
  for (std::size_t block = 0; block < plan.blocks.size(); ++block) {
    const PlanBlock& owner = plan.blocks[block];
    const int firstOfRank = plan.ranks[owner.rank].firstBlock;
    packed.blocks.push_back({.firstOp = static_cast<std::uint32_t>(packed.ops.size()),
                             .opCount = static_cast<std::uint32_t>(owner.endStep - owner.firstStep)});
    // A message is lent only if both ends move the same chunks with it.
    const auto isLent = [&](int sender, int connection) {
      const PlanStep& from = plan.steps[sender];
      return from.sourceStable && canPull[connection] && from.peerSend >= 0 &&
             plan.steps[from.peerSend].count == from.count;
    };
    for (int index = owner.firstStep; index < owner.endStep; ++index) {
      const PlanStep& step = plan.steps[index];
      PackedOp op = {.type = static_cast<OpType>(step.type),
                     .src = small(step.srcOffset),
                     .dst = small(step.dstOffset),
                     .count = small(step.count)};
      op.buffers = static_cast<std::uint8_t>(bits(step.srcBuffer, 0) | bits(step.dstBuffer, 2));
      if (step.waitBlock >= 0) {
        op.marks |= kWaits;
        op.waitBlock = small(step.waitBlock - firstOfRank);
        op.waitStep = small(step.waitStep);
      }
      op.marks |= step.publishes ? kPublishes : 0;
      if (program::sends(step.type) && step.count > 0) {
        if (isLent(index, owner.sendConnection)) {
          op.marks |= kLends;
        } else {
          packed.usesSlots[owner.sendConnection] = true;
        }
      }
      Shown shown;
      if (program::receives(step.type) && step.peerRecv >= 0 && isLent(step.peerRecv, owner.recvConnection)) {
        shown = shownBy(plan.steps[step.peerRecv]);
        op.marks |= kPulls;
        op.buffers = static_cast<std::uint8_t>(op.buffers | bits(shown.buffer, 4));
        op.peer = small(shown.offset);
      }
      if (!fits(step.srcOffset) || !fits(step.dstOffset) || !fits(step.count) || !fits(shown.offset) ||
          !fits(step.waitStep) || !fits(step.waitBlock - firstOfRank) || index - owner.firstStep > kMax) {
        return Error{
            .code = ErrorCode::limit,
            .message = "a number of a step is larger than the GPU's operations hold (" + std::to_string(kMax) + ")",
            .fix = "use the threads backend",
            .where = {.element = stepElement(plan, static_cast<int>(block), index)}};
      }
      packed.ops.push_back(op);
    }
  }
  return packed;
}

Result<RunView> makeRunView(const Plan& plan, const Geometry& geometry, ReduceOp op, int strands) {
  constexpr std::int64_t kMaxMessage = (std::int64_t{1} << kStampByteBits) - 1;
  if (geometry.slotBytes > kMaxMessage) {
    return Error{.code = ErrorCode::limit,
                 .message = "messages of " + std::to_string(geometry.slotBytes) + " bytes; the GPU takes " +
                            std::to_string(kMaxMessage) + " at most",
                 .fix = "use smaller pieces"};
  }
  RunView view;
  view.partBytes = geometry.partElements * geometry.elementBytes;
  view.chunkBytes = geometry.chunkElements * geometry.elementBytes;
  view.tileBytes = geometry.tileElements * geometry.elementBytes;
  view.tiles = geometry.tiles;
  view.slotStride = (geometry.slotBytes + kSkewRoom + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
  view.chunksPerPart = static_cast<std::uint32_t>(plan.chunksPerPart);
  view.chunksPerMessage = static_cast<std::uint32_t>(geometry.chunksPerMessage);
  view.depth = static_cast<std::uint32_t>(geometry.depth);
  view.strands = static_cast<std::uint32_t>(strands);
  view.combine = op == ReduceOp::avg ? Combine::sum : static_cast<Combine>(op);
  return view;
}

}  // namespace coppice::executor::cuda
