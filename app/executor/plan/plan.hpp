// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "plan/types.hpp"
#include "program/program.hpp"
#include "verify/program_verifier.hpp"

/// The executable form of a program: flat arrays without pointers, the same for every backend, and proofs of what may
/// be done faster than through the connections.
///
/// Meaning (all backends): a threadblock runs its steps in order, the whole list once for each tile. A connection is a
/// bounded FIFO of messages with exactly one sending and one receiving threadblock; a sender waits while `depth`
/// messages are unconsumed. A step with waitBlock first waits until that threadblock has finished step waitStep of the
/// same tile. A step of `count` chunks that sends or receives is ceil(count / Geometry::chunksPerMessage) messages,
/// also when they are empty; a fused step moves them one at a time. Runs are separated by a barrier over all ranks.
namespace coppice::executor {

struct PlanStep {
  program::StepType type = program::StepType::nop;
  program::Buffer srcBuffer = program::Buffer::input;
  program::Buffer dstBuffer = program::Buffer::input;
  bool publishes = false;  ///< some step waits for this one: write the flag when it is done
  /// Sends whose data is what is at dst (recvCopySend, recvReduceCopySend) or src (send), and nothing overwrites it
  /// before the peer has received it: the message may be a pointer to that place. Never set for recvReduceSend.
  bool sourceStable = false;
  /// Receives into dst, and all readers of that place have finished when the peer sends: the peer may write straight
  /// there. Set only for recv and recvCopySend.
  bool targetFree = false;
  /// Writes dst for the last time, and it is not read afterwards: it need not stay in a cache.
  bool isFinal = false;
  int srcOffset = -1;  ///< chunks; meaningless where the type does not use it (program::usesSource)
  int dstOffset = -1;
  int count = 0;
  int waitBlock = -1;  ///< index into Plan::blocks, of the same rank; -1 = none
  int waitStep = -1;   ///< position within that threadblock
  int peerSend = -1;   ///< the step (in Plan::steps) that receives what this one sends; -1 = it sends nothing
  int peerRecv = -1;   ///< the step that sends what this one receives
};

struct PlanBlock {
  int rank = 0;
  int id = 0;  ///< threadblock number within the rank
  int channel = 0;
  int firstStep = 0;  ///< into Plan::steps
  int endStep = 0;
  int sendConnection = -1;  ///< into Plan::connections; -1 = it never sends
  int recvConnection = -1;
};

struct PlanConnection {
  int sendRank = 0;
  int recvRank = 0;
  int channel = 0;
  int sendBlock = 0;  ///< into Plan::blocks
  int recvBlock = 0;
  int messagesPerTile = 0;  ///< with one chunk per message
};

struct PlanRank {
  int firstBlock = 0;
  int endBlock = 0;
  int scratchChunks = 0;
};

/// One program in one of its two variants.
struct Plan {
  std::string name;
  Collective operation = Collective::allgather;
  Place place = Place::inPlace;
  int root = -1;  ///< of a rooted operation
  int chunksPerLoop = 1;
  int chunksPerPart = 1;  ///< chunks of one rank's share; = chunksPerLoop where nothing is shared out
  int inputChunks = 0;    ///< of the caller's buffers
  int outputChunks = 0;
  int channels = 1;
  int smallestDepth = 1;  ///< FIFO depth from which the plan runs to its end, with one chunk per message
  /// The program keeps data of different chunk numbers at one place of i or o, so all chunks must have one size:
  /// counts are rounded up.
  bool needsEqualChunks = false;
  std::vector<verify::CustomShard> custom;  ///< custom: what it computes, by chunks, which it covers in order
  std::vector<PlanRank> ranks;
  std::vector<PlanBlock> blocks;  ///< rank by rank, in order of their ids
  std::vector<PlanStep> steps;    ///< threadblock by threadblock
  std::vector<PlanConnection> connections;

  [[nodiscard]] int rankCount() const { return static_cast<int>(ranks.size()); }
  /// Data of several ranks are reduced, all of it or some.
  [[nodiscard]] bool combines() const;
};

/// "rank 3, threadblock 2, step 14". @param step index into Plan::steps
[[nodiscard]] ElementRef stepElement(const Plan& plan, int block, int step);
/// The same with the operation, "rank 3, threadblock 2, step 14 (rrc from rank 5)".
[[nodiscard]] std::string nameStep(const Plan& plan, int block, int step);

struct PlanOptions {
  program::Runtime runtime = program::Runtime::msccl;  ///< whose reading of the format counts
  int root = -1;                                       ///< expected root; -1 = what the data shows
  std::vector<verify::CustomShard> custom = {};        ///< what a custom program has to compute
  /// FIFO depth to run with; 0 = 8, or what the protocol has if that is more.
  int depth = 0;
  /// Skip the symbolic execution and the race check: for programs that are meant to fail while they run. No proof of
  /// direct access is made then.
  bool unchecked = false;
};

/// What became of a program.
struct PlanSet {
  std::optional<Plan> inPlace;
  std::optional<Plan> outOfPlace;
  int depth = 8;
  std::vector<Finding> findings;
  bool ok = false;  ///< no finding that forbids running
};

/// Checks the program (schema, limits of this executor, peers, owners of connections, equal sequences, offsets,
/// dependencies, cycles at the depth, races, final contents by core/verify) and lays out its variants.
/// Limits: 1024 ranks, 1024 threadblocks per rank, 65536 steps per threadblock, 32768 chunks per buffer.
/// Limits of the GPU runtimes are reported as warnings: they do not bind this executor.
/// Errors: only what ends the work: cancelled, limit (memory), internal. A bad program is ok = false with findings.
Result<PlanSet> makePlans(const program::Program& program, const PlanOptions& options, const Progress& progress = {});

/// Half-open, in elements.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// A plan at one size. A part is one rank's share (allgather: what a rank contributes; reduce_scatter: what it gets;
/// alltoall: what one rank sends another); where nothing is shared out there is one part. Each part is cut into
/// chunksPerPart chunks of chunkElements, the last of them shorter, maybe empty. Buffers are parts one after the other,
/// without gaps. Scratch is cut into whole chunks.
struct Geometry {
  DataType type = DataType::float32;
  std::int64_t count = 0;  ///< elements as nccl-tests counts them: those of one part
  std::int64_t size = 0;   ///< bytes as nccl-tests counts them: those of the longer caller's buffer
  std::int64_t elementBytes = 4;
  std::int64_t partElements = 0;  ///< count, or more where the plan needs equal chunks
  int chunksPerPart = 1;
  std::int64_t chunkElements = 0;
  std::int64_t tileElements = 0;  ///< longest piece of a chunk that one tile moves; >= 1
  std::int64_t tiles = 1;         ///< times that the steps are run
  int chunksPerMessage = 1;       ///< whole chunks that one message holds; > 1 only with one tile
  std::int64_t slotBytes = 0;     ///< room of one message: chunksPerMessage * tileElements * elementBytes, rounded up
  int depth = 8;
  std::int64_t inputElements = 0;  ///< of a rank's caller's buffers
  std::int64_t outputElements = 0;
  std::int64_t maxScratchBytes = 0;  ///< of any rank

  /// Elements of a chunk of i or o.
  [[nodiscard]] Range chunk(int index) const;
  /// Those of it that a tile moves.
  [[nodiscard]] Range slice(program::Buffer buffer, int index, std::int64_t tile) const;
  /// Those of consecutive chunks: one range, because they are moved together only with one tile.
  [[nodiscard]] Range slice(program::Buffer buffer, int index, int chunks, std::int64_t tile) const;
  [[nodiscard]] std::int64_t scratchElements(int chunks) const { return chunks * chunkElements; }
};

struct SizeOptions {
  DataType type = DataType::float32;
  std::int64_t bytes = 0;  ///< wanted size; rounded down to whole elements of each part
  /// Longest piece of a chunk in one tile, and longest message; bytes. 0 = the backend's choice.
  std::int64_t pieceBytes = 128 << 10;
  int depth = 8;
};
/// Errors: overflow, badUsage (negative).
Result<Geometry> makeGeometry(const Plan& plan, const SizeOptions& options);

/// Where a rank's input begins in its output (allgather, gather) or its output in its input (the others), elements.
/// Only in place.
[[nodiscard]] std::int64_t aliasOffset(const Plan& plan, const Geometry& geometry, int rank);

/// Bytes read and written by all steps at this size, with every message through its slot (design figures: s 2, r 2,
/// rcs 3, rrs 3, rrc 3, rrcs 4, cpy 2, re 3 for each byte moved), and with direct access wherever it is proven.
struct Traffic {
  std::int64_t throughSlots = 0;
  std::int64_t direct = 0;
};
[[nodiscard]] Traffic trafficOf(const Plan& plan, const Geometry& geometry);

}  // namespace coppice::executor
