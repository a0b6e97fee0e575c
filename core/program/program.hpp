// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective.hpp"

/// What an MSCCL-like interpreter runs: threadblocks with ordered steps per rank. Read by the executor, so it depends
/// on core/base alone.
namespace coppice::program {

enum class Protocol { simple, ll, ll128 };
/// "Simple", "LL", "LL128".
[[nodiscard]] std::string_view toString(Protocol protocol);

enum class Buffer { input, output, scratch };
/// 'i', 'o', 's'.
[[nodiscard]] char letter(Buffer buffer);

enum class StepType {
  send,                ///< s
  recv,                ///< r
  recvCopySend,        ///< rcs
  recvReduceSend,      ///< rrs
  recvReduceCopy,      ///< rrc
  recvReduceCopySend,  ///< rrcs
  copy,                ///< cpy
  reduce,              ///< re
  nop                  ///< nop
};
/// "s", "r", "rcs", "rrs", "rrc", "rrcs", "cpy", "re", "nop".
[[nodiscard]] std::string_view toString(StepType type);
[[nodiscard]] constexpr bool sends(StepType type) {
  return type == StepType::send || type == StepType::recvCopySend || type == StepType::recvReduceSend ||
         type == StepType::recvReduceCopySend;
}
[[nodiscard]] constexpr bool receives(StepType type) {
  return type == StepType::recv || type == StepType::recvCopySend || type == StepType::recvReduceSend ||
         type == StepType::recvReduceCopy || type == StepType::recvReduceCopySend;
}

/// The runtime reads the local data at Step::src (formats note, 1.3); otherwise src is documentation only.
[[nodiscard]] constexpr bool usesSource(StepType type) {
  return type != StepType::recv && type != StepType::recvCopySend && type != StepType::nop;
}
/// The runtime writes the local data at Step::dst; otherwise dst is documentation only.
[[nodiscard]] constexpr bool usesDestination(StepType type) {
  return type != StepType::send && type != StepType::recvReduceSend && type != StepType::nop;
}

/// A place in a local buffer; offset in chunks, -1 = unused.
struct Slot {
  Buffer buffer = Buffer::input;
  int offset = -1;

  friend bool operator==(const Slot&, const Slot&) = default;
};

struct Step {
  StepType type = StepType::nop;
  Slot src = {};
  Slot dst = {};
  int count = 0;         ///< consecutive chunks
  int dependsOnTb = -1;  ///< threadblock of the same rank, -1 = none
  int dependsOnStep = -1;
  bool hasDependent = false;  ///< some step waits for this one

  friend bool operator==(const Step&, const Step&) = default;
};

struct ThreadBlock {
  int sendPeer = -1;  ///< rank, -1 = none
  int recvPeer = -1;
  int channel = 0;
  std::vector<Step> steps = {};

  friend bool operator==(const ThreadBlock&, const ThreadBlock&) = default;
};

struct RankProgram {
  int inputChunks = 0;
  int outputChunks = 0;
  int scratchChunks = 0;
  std::vector<ThreadBlock> threadBlocks = {};  ///< id = position

  friend bool operator==(const RankProgram&, const RankProgram&) = default;
};

/// One collective for all ranks. All chunks have the size total bytes / chunksPerLoop.
struct Program {
  std::string name;
  Collective collective = Collective::allgather;
  std::string collectiveText = {};  ///< as read, when it is none of ours ("alltoall", "gather"); empty otherwise
  Protocol protocol = Protocol::simple;
  int channels = 1;
  int chunksPerLoop = 1;
  bool inPlace = true;
  bool outOfPlace = false;
  std::int64_t minBytes = 0;
  std::int64_t maxBytes = 0;
  /// Root of broadcast, reduce, gather and scatter; MSCCL XML does not carry it, so a reader leaves -1 and the verifier infers it.
  int root = -1;
  std::vector<RankProgram> ranks;

  friend bool operator==(const Program&, const Program&) = default;
};

/// The word for what it computes: "allgather", "gather", …
[[nodiscard]] std::string_view collectiveName(const Program& program);

/// Which runtime will read the program: spellings, mandatory attributes and limits differ (formats note, 1.8 and 1.12).
enum class Runtime {
  msccl,              ///< microsoft/msccl (NCCL 2.12)
  mscclExecutorNccl,  ///< Azure/msccl-executor-nccl (NCCL 2.23)
  rccl                ///< ROCm/rccl >= 6.1
};
/// "msccl", "msccl-executor-nccl", "rccl".
[[nodiscard]] std::string_view toString(Runtime runtime);

struct RuntimeLimits {
  int stepsPerThreadBlock;
  int threadBlocksPerRank;
  int channels;
  int peersPerChannel;  ///< threadblocks with a send (or recv) peer per rank and channel
  int count;            ///< chunks of one step
  int dependencyTb;     ///< largest threadblock id a step may wait for
  int offset;           ///< largest chunk offset
  int xmlNodes;         ///< algo + all gpu + this rank's tb and step elements
};
[[nodiscard]] const RuntimeLimits& limits(Runtime runtime);

/// Messages a sender may run ahead of its receiver: 2 (Simple), 8 (LL, LL128).
[[nodiscard]] int connectionDepth(Protocol protocol);

}  // namespace coppice::program
