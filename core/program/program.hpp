// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective.hpp"
#include "base/result.hpp"

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
  /// Root of broadcast, reduce, gather and scatter; MSCCL XML does not carry it, so a reader leaves -1 and the verifier
  /// infers it.
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
  rccl,               ///< ROCm/rccl of ROCm 6.2 to 7.12: later ones ignore a program without a word
  rccl61,             ///< ROCm 6.1
  rccl60,             ///< ROCm 6.0
  mscclpp             ///< microsoft/mscclpp: reads execution plans, which core/mscclpp makes of a program
};
/// Those that read MSCCL XML, in the order in which they are offered.
inline constexpr std::array<Runtime, 5> kRuntimes{Runtime::msccl, Runtime::mscclExecutorNccl, Runtime::rccl,
                                                  Runtime::rccl61, Runtime::rccl60};
/// "msccl", "msccl-executor-nccl", "rccl", "rccl-6.1", "rccl-6.0", "mscclpp".
[[nodiscard]] std::string_view toString(Runtime runtime);
/// The inverse of toString, for those of kRuntimes. Errors: badUsage, naming `option` and the runtimes.
[[nodiscard]] Result<Runtime> parseRuntime(std::string_view text, std::string_view option);
/// All names, as in "msccl, msccl-executor-nccl or rccl".
[[nodiscard]] std::string runtimeNames();
[[nodiscard]] constexpr bool isRccl(Runtime runtime) {
  return runtime == Runtime::rccl || runtime == Runtime::rccl61 || runtime == Runtime::rccl60;
}
/// The runtime's kernels can run steps of this type.
[[nodiscard]] bool isBuilt(StepType type, Runtime runtime);
/// "rcs is not built into rccl: the call fails" and what to use instead. @pre !isBuilt(type, runtime)
[[nodiscard]] std::string unbuiltText(StepType type, Runtime runtime);
[[nodiscard]] std::string unbuiltFix(Runtime runtime);

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
