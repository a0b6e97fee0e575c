// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "program/program.hpp"
#include "simulate/job.hpp"

namespace coppice::simulate {

/// A program as a job for one size, and how often its loop turns.
struct ProgramJob {
  Job job;
  std::uint32_t turns = 1;
  std::int64_t sharesPerByte = 1;  ///< every Message::share is a whole number of 1 / sharesPerByte
  std::vector<Finding> notes;      ///< what was assumed
};

/// Chunks that the bytes of a call are divided into.
[[nodiscard]] int chunksOf(const program::Program& program);

/// Whether a step adds what it receives to what its rank has.
[[nodiscard]] constexpr bool addsUp(program::StepType type) {
  using program::StepType;
  return type == StepType::recvReduceCopy || type == StepType::recvReduceSend || type == StepType::recvReduceCopySend;
}

/// A program of an MSCCL-like runtime as messages: ours or a third party's, any collective.
///
/// Threadblocks run their steps in order; a step begins when the step it waits for has ended. A sending step holds its
/// threadblock until its last byte has left; receiving, copying and adding take no time of their own. A fused step
/// sends once its message has arrived and its connection has a free slot: connectionDepth() messages may be under way
/// or not yet taken. A step of several chunks moves as many of them in one message as fit into a slot; chunks larger
/// than a slot take several turns of the whole program (Simple 2 MiB, LL 32 KiB, LL128 576,000 bytes: the runtimes'
/// defaults). LL doubles the bytes on the wire, LL128 adds a fifteenth. Messages take shortest routes, see
/// ShortestRoutes. The whole collective counts as nccl-tests does.
///
/// Whether the program computes the right thing does not matter here; `verify` says that.
///
/// Errors: badInput (other number of ranks than GPUs; steps without their peer, place or other end: the first fault),
/// limit (more than 2^26 messages), cancelled.
[[nodiscard]] Result<ProgramJob> programJob(const fabric::Fabric& fabric, const program::Program& program, double bytes,
                                            const Model& model, const Progress& progress = {});

}  // namespace coppice::simulate
