// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

/// A plan at one size, as a list of operations without any arithmetic left to do.
namespace coppice::executor {

/// One message, or one piece of a step that exchanges none. Places are bytes from the start of a rank's buffer, at tile
/// 0; tile t is Script::tileBytes * t further on.
struct Op {
  program::StepType type = program::StepType::nop;
  program::Buffer srcBuffer = program::Buffer::input;
  program::Buffer dstBuffer = program::Buffer::input;
  bool byPointer : 1 = false;  ///< the message is the place of the data, not a copy (PlanStep::sourceStable)
  bool isFinal : 1 = false;
  bool isFirst : 1 = false;    ///< of its step: the wait is here
  bool publishes : 1 = false;  ///< last of a step that others wait for
  std::int32_t step = 0;       ///< into Plan::steps
  std::int32_t number = 0;     ///< of the step in its threadblock
  std::int32_t waitBlock = -1;
  std::int32_t waitStep = -1;
  std::int32_t lane = -1;  ///< chunk number in the longer of i and o that the data belongs to; -1 = not known
  std::int64_t src = 0;
  std::int64_t dst = 0;
  std::int64_t bytes = 0;  ///< in all tiles together
};

struct ScriptBlock {
  std::int32_t firstOp = 0;
  std::int32_t endOp = 0;
};

struct Script {
  std::vector<Op> ops;
  std::vector<ScriptBlock> blocks;  ///< as Plan::blocks
  std::int64_t tiles = 1;
  std::int64_t tileBytes = 0;  ///< longest piece of one tile where there are several
  std::int64_t slotBytes = 0;
  int depth = 8;

  /// Bytes that an operation moves in a tile.
  [[nodiscard]] std::int64_t bytesOf(const Op& op, std::int64_t tile) const {
    if (tiles == 1) {
      return op.bytes;
    }
    const std::int64_t left = op.bytes - tile * tileBytes;
    return left <= 0 ? 0 : left < tileBytes ? left : tileBytes;
  }
};

/// @param byPointer whether messages may be pointers where the plan allows it
[[nodiscard]] Script makeScript(const Plan& plan, const Geometry& geometry, bool byPointer);

}  // namespace coppice::executor
