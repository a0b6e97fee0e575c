// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "mscclpp/execution_plan.hpp"
#include "program/program.hpp"

/// From threadblocks that send and receive messages to threadblocks that put, signal and wait.
namespace coppice::mscclpp {

struct PlanOptions {
  /// By rank: the box (or NVLink domain) that it is in. Inside one, ranks share memory channels; between two, port
  /// channels. Empty = all ranks in one.
  std::vector<int> boxOf = {};
  /// By rank: its share of an allgather or reduce_scatter, in any unit. Empty = equal ones.
  std::vector<std::int64_t> amounts = {};
  /// Threadblocks of a rank that a GPU runs at once.
  int maxBlocks = 108;
};

/// Lowers a program that verify::verifyProgram accepts, for the common subset of releases 0.8 to main.
///
/// Every step keeps its place: a threadblock of the program becomes one of the plan, or several, one after the other,
/// where it has more than 64 operations. A message becomes a put and a signal, which its receiver waits for; in LL,
/// packets in the receiver's scratch, without a signal. MSCCL's connections hold a message until it is received; here
/// the sender writes into the receiver's buffer. It writes straight to where the message is wanted if everything that
/// the receiver does there before comes before the sending, and else into scratch that no other message uses. A sender
/// learns that its receiver has begun by a relaxed signal; one that sends by a port learns at the end that all has been
/// read. A wait for a step of another threadblock becomes a semaphore. Every rank starts and ends with all of its
/// semaphores and channels as it found them.
///
/// Gather and scatter are out of place, and all ranks have both buffers, as the executor wants them. A rank without
/// data of its own has one chunk that belongs to no result (Gpu::hasNoShare). Buffers of a custom collective hold all
/// shards on every rank.
///
/// Errors: badUsage (LL128, gather and scatter in place), limit (threadblocks of a rank, bytes that 32 bits address),
/// badInput for messages without a counterpart or steps that wait for each other.
[[nodiscard]] Result<ExecutionPlan> fromProgram(const program::Program& program, const PlanOptions& options);

}  // namespace coppice::mscclpp
