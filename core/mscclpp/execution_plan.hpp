// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.hpp"

/// What MSCCL++'s executor runs: one file for all ranks; each rank has threadblocks that put, signal, wait and add up
/// by channels. Source: microsoft/mscclpp, src/core/executor, releases 0.8 to main of August 2026.
namespace coppice::mscclpp {

using program::Buffer;

enum class ChannelType : std::uint8_t {
  none,
  memory,   ///< load and store: inside a box or an NVLink domain
  port,     ///< by a proxy on the host: between boxes
  switched  ///< multimem instructions of an NVSwitch
};
/// "none", "memory", "port", "switch".
[[nodiscard]] std::string_view toString(ChannelType type);

enum class OpType : std::uint8_t {
  nop,
  barrier,
  semAcquire,
  semRelease,
  signal,
  relaxedSignal,
  wait,
  relaxedWait,
  flush,
  put,
  putWithSignal,
  putWithSignalAndFlush,
  get,
  copy,
  reduce,
  reduceSend,
  readReduce,
  readReduceSend,
  multiLoadReduceStore,
  multiStore,
  putPackets,
  readPutPackets,
  copyPackets,
  unpackPackets,
  reducePackets,
  reduceSendPackets,
  reduceCopyPackets,
  reduceCopySendPackets,
  multiStorePackets,
  pipeline
};
inline constexpr int kOpTypes = static_cast<int>(OpType::pipeline) + 1;
/// "nop", "pws", "respkt", …
[[nodiscard]] std::string_view toString(OpType type);
[[nodiscard]] std::optional<OpType> parseOpType(std::string_view name);

/// What an operation takes; the number of entries of its buffers, as the kernel reads them.
struct OpShape {
  int minSources = 0;
  int maxSources = 0;
  int minDestinations = 0;
  int maxDestinations = 0;
  bool memory = false;  ///< may name channels of that type
  bool port = false;
  bool takesChannels = false;    ///< memory: channel_ids; put and its like take them for ports alone
  bool takesSemaphores = false;  ///< semaphore_ids
  bool readsPackets = false;     ///< waits for flags in scratch
  bool writesPackets = false;
  std::string_view since = {};  ///< the release that has it, where it is not 0.8
};
[[nodiscard]] const OpShape& shapeOf(OpType type);

/// A run of chunks of a buffer: of this rank, of another one, or of all ranks of a switch group.
struct ChunkRun {
  enum class Place : std::uint8_t { local, remote, switched };
  Place place = Place::local;
  Buffer buffer = Buffer::input;  ///< local alone
  int id = -1;                    ///< remote: in the threadblock's list of its channel type; switched: group
  int index = 0;                  ///< first chunk
  int size = 0;                   ///< chunks

  friend bool operator==(const ChunkRun&, const ChunkRun&) = default;
};

struct Operation {
  OpType type = OpType::nop;
  ChannelType channelType = ChannelType::none;
  std::vector<int> channels = {};  ///< in the threadblock's list of channelType
  std::vector<ChunkRun> sources = {};
  std::vector<ChunkRun> destinations = {};
  std::vector<int> semaphores = {};  ///< of the rank
  int barrier = -1;
  int barrierBlocks = 0;
  int groupIndex = 0;  ///< which part of every buffer the block takes: groupIndex of groupSize
  int groupSize = 1;
  std::int64_t unitBytes = 0;  ///< pipeline: bytes of one iteration
  int unitChunks = 0;          ///< pipeline: chunks that all iterations take
  std::vector<Operation> inner = {};

  friend bool operator==(const Operation&, const Operation&) = default;
};

struct ThreadBlock {
  std::vector<int> memoryChannels = {};  ///< of the rank's memory channels
  std::vector<int> portChannels = {};
  std::vector<int> switchGroups = {};
  std::vector<int> memoryBuffers = {};  ///< of the rank's remote buffers
  std::vector<int> portBuffers = {};
  std::vector<Operation> ops = {};

  friend bool operator==(const ThreadBlock&, const ThreadBlock&) = default;
};

struct SwitchGroup {
  Buffer buffer = Buffer::input;
  int size = 0;  ///< chunks
  std::vector<int> ranks = {};

  friend bool operator==(const SwitchGroup&, const SwitchGroup&) = default;
};

/// A buffer of another rank that this one reads or writes.
struct RemoteBuffer {
  int rank = 0;
  Buffer buffer = Buffer::input;
  bool byMemory = false;
  bool byPort = false;

  friend bool operator==(const RemoteBuffer&, const RemoteBuffer&) = default;
};

/// What one rank runs. The k-th channel of a type to a peer is paired with the k-th of the peer to this rank.
struct Gpu {
  int inputChunks = 0;
  int outputChunks = 0;
  int scratchChunks = 0;
  /// Of the buffer that differs by rank (an allgather's input, a reduce_scatter's output) this rank has nothing: it has
  /// one chunk all the same, as the executor divides by them, which belongs to no result. Our own key of the file.
  bool hasNoShare = false;
  std::vector<int> memoryPeers = {};  ///< by memory channel
  std::vector<int> portPeers = {};    ///< by port channel
  std::vector<SwitchGroup> switchGroups = {};
  std::vector<RemoteBuffer> remoteBuffers = {};
  std::vector<int> semaphores = {};  ///< initial values
  std::vector<ThreadBlock> blocks = {};

  friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// All chunks have the size input bytes / inputChunks.
struct ExecutionPlan {
  std::string name = {};
  std::string collective = {};  ///< as in the file
  std::string protocol = "Simple";
  bool inPlace = false;
  bool reusesResources = false;
  bool doublesScratch = false;
  int threadsPerBlock = 1024;
  std::int64_t alignment = 16;  ///< bytes
  std::int64_t minBytes = 0;
  std::uint64_t maxBytes = std::numeric_limits<std::uint64_t>::max();
  std::vector<Gpu> gpus = {};

  [[nodiscard]] bool hasPackets() const { return protocol == "LL"; }

  friend bool operator==(const ExecutionPlan&, const ExecutionPlan&) = default;
};

/// The executor's limits. It checks the operations of a threadblock alone; beyond the others it overwrites memory.
inline constexpr int kMaxOps = 64;  ///< of a threadblock, those inside pipelines included
inline constexpr int kMaxChannelsOfBlock = 16;
inline constexpr int kMaxBuffersOfBlock = 16;
inline constexpr int kMaxChannelsOfOp = 8;
inline constexpr int kMaxRunsOfOp = 10;
inline constexpr int kMaxBarriers = 16;
inline constexpr int kMaxSemaphoresOfOp = 16;
inline constexpr int kMaxInnerOps = 255;
inline constexpr int kMaxThreads = 1024;
/// Scratch of plans that reuse resources.
inline constexpr std::int64_t kReusedScratchBytes = std::int64_t{64} << 20;

/// One operation of a plan; not necessarily of an existing one.
struct OpPlace {
  int rank = 0;
  int block = 0;
  int op = 0;
  int inner = -1;  ///< inside a pipeline

  friend bool operator==(const OpPlace&, const OpPlace&) = default;
};
/// "rank 3, threadblock 2, operation 14", "…, operation 2.1" inside a pipeline.
[[nodiscard]] std::string placeText(const OpPlace& place);
/// As ElementRef of messages: operations are steps.
[[nodiscard]] ElementRef elementOf(const OpPlace& place);

/// Operations as the executor counts them: pipelines with what is inside.
[[nodiscard]] int countOps(const ThreadBlock& block);

}  // namespace coppice::mscclpp
