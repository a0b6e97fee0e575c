// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "mscclpp/block_writer.hpp"
#include "mscclpp/execution_plan.hpp"

/// Internal to core/mscclpp: what every plan gets in the end.
namespace coppice::mscclpp {

/// The remote buffer of a rank, listed where it was not yet.
int remoteBuffer(Gpu& gpu, int peer, Buffer buffer, bool isPort);

/// Adds a threadblock, or several that run one after the other where it has more than 64 operations.
void appendBlock(Gpu& gpu, const ThreadBlock& lists, const BlockWriter& writer);

/// Errors: limit where a GPU does not run that many threadblocks at once.
[[nodiscard]] Outcome requireBlocks(const Gpu& gpu, int rank, int maxBlocks, std::string fix);

struct WindowRequest {
  std::int64_t chunksPerLoop = 1;  ///< of the whole collective
  std::int64_t minBytes = 0;
  std::int64_t maxBytes = 0;  ///< 0 = no limit of the caller's
};
/// Buffers of at most 32 bits of bytes, and the caller's window. Errors: limit.
[[nodiscard]] Outcome setWindow(ExecutionPlan& plan, const WindowRequest& request);

}  // namespace coppice::mscclpp
