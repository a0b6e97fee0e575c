// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// What the interpreter kernel reads: a plan packed into operations of 16 bytes, and where everything is. Compiled as
/// C++17 for the device and as C++20 for the host.
namespace coppice::executor::cuda {

#ifdef __CUDACC__
#define COPPICE_GPU __device__
#else
#define COPPICE_GPU
#endif

/// A count or mark that threadblocks share.
using Word = unsigned long long;

/// As program::StepType.
enum class OpType : std::uint8_t {
  send,
  recv,
  recvCopySend,
  recvReduceSend,
  recvReduceCopy,
  recvReduceCopySend,
  copy,
  reduce,
  nop
};

/// As ReduceOp without avg, which adds and divides at the end.
enum class Combine : std::uint8_t { sum, prod, min, max };

inline constexpr std::uint8_t kWaits = 1;      ///< for step waitStep of threadblock waitBlock
inline constexpr std::uint8_t kPublishes = 2;  ///< raises its threadblock's flag
inline constexpr std::uint8_t kPulls = 4;      ///< reads its message where the sender keeps the data
inline constexpr std::uint8_t kLends = 8;      ///< its message is read where the data is; nothing is copied to a slot

/// One step. Places are chunks, so a packed plan serves all sizes.
struct alignas(16) PackedOp {
  OpType type = OpType::nop;
  std::uint8_t buffers = 0;  ///< program::Buffer of src, dst and peer, two bits each
  std::uint8_t marks = 0;
  std::uint8_t unused = 0;
  std::uint16_t src = 0;
  std::uint16_t dst = 0;
  std::uint16_t peer = 0;  ///< kPulls: place in the sender's buffer
  std::uint16_t count = 0;
  std::uint16_t waitBlock = 0;  ///< within the rank
  std::uint16_t waitStep = 0;

  [[nodiscard]] COPPICE_GPU unsigned srcBuffer() const { return buffers & 3U; }
  [[nodiscard]] COPPICE_GPU unsigned dstBuffer() const { return (buffers >> 2U) & 3U; }
  [[nodiscard]] COPPICE_GPU unsigned peerBuffer() const { return (buffers >> 4U) & 3U; }
  [[nodiscard]] COPPICE_GPU bool has(std::uint8_t mark) const { return (marks & mark) != 0; }
};
static_assert(sizeof(PackedOp) == 16, "one load each");

/// Operations held in shared memory at a time.
inline constexpr unsigned kWindow = 256;
/// Words between two flags, so that each has a cache line of its own.
inline constexpr unsigned kFlagStride = 16;

/// The stamp of a message, written when its data is there: number + 1 (32 bits), skew of the data in its slot (4),
/// bytes (28). One load tells the receiver that the message is there and how long it is.
inline constexpr unsigned kStampByteBits = 28;
COPPICE_GPU inline Word makeStamp(Word number, unsigned skew, std::int64_t bytes) {
  return (number + 1) << 32U | static_cast<Word>(skew) << kStampByteBits | static_cast<Word>(bytes);
}
COPPICE_GPU inline bool isStampOf(Word stamp, Word number) {
  return static_cast<std::uint32_t>(stamp >> 32U) == static_cast<std::uint32_t>(number + 1);
}
COPPICE_GPU inline std::int64_t stampBytes(Word stamp) {
  return static_cast<std::int64_t>(stamp & ((1ULL << kStampByteBits) - 1));
}
COPPICE_GPU inline unsigned stampSkew(Word stamp) {
  return static_cast<unsigned>(stamp >> kStampByteBits) & 15U;
}

/// What a threadblock tells the host: tile (40 bits), step (16), state (8). Written when a tile begins, when a wait
/// turns long and when that wait ends.
enum class BlockState : std::uint8_t { idle, runs, waitsForData, waitsForSpace, waitsForFlag, stopped, done };
COPPICE_GPU inline Word makeProgress(BlockState state, std::int64_t tile, unsigned step) {
  return static_cast<Word>(tile) << 24U | static_cast<Word>(step & 0xFFFFU) << 8U | static_cast<Word>(state);
}

/// The flag's value when a step of a tile is done; grows over all runs since prepare.
/// @param tile counted over all runs
COPPICE_GPU inline Word flagValue(Word tile, unsigned step) {
  return tile << 20U | (step + 1);
}

/// One executed message or piece.
struct TraceSlot {
  Word start = 0;  ///< ns of the device's clock
  Word end = 0;
  std::uint32_t tile = 0;
  std::uint32_t step = 0;
};

/// One threadblock of the plan in one strand: what one block of the grid runs. A strand runs every strands-th tile of
/// the whole plan with counters, flags and slots of its own; tiles touch disjoint bytes, so strands need no order.
struct BlockView {
  const PackedOp* ops = nullptr;
  unsigned char* base[3] = {};            ///< input, output, scratch of its rank
  const unsigned char* peerBase[3] = {};  ///< of the rank it receives from; null where that memory is not mapped
  Word* recvStamps = nullptr;             ///< a ring of depth
  Word* recvHead = nullptr;               ///< messages consumed
  unsigned char* recvSlots = nullptr;
  Word* sendStamps = nullptr;
  Word* sendHead = nullptr;
  unsigned char* sendSlots = nullptr;
  Word* flags = nullptr;  ///< of threadblock 0 of the rank; the others kFlagStride further on each
  Word* ownFlag = nullptr;
  Word* counters = nullptr;  ///< messages sent and received since prepare, events traced since the run began
  Word* progress = nullptr;  ///< in host memory
  TraceSlot* trace = nullptr;
  std::uint32_t traceRoom = 0;
  std::uint32_t opCount = 0;
  std::uint32_t strand = 0;
  std::uint32_t unused = 0;
};
inline constexpr unsigned kSent = 0;
inline constexpr unsigned kReceived = 1;
inline constexpr unsigned kTraced = 2;
inline constexpr unsigned kCounters = 4;

/// What all blocks of a launch share. Sizes in bytes.
struct RunView {
  std::int64_t partBytes = 0;
  std::int64_t chunkBytes = 0;
  std::int64_t tileBytes = 0;
  std::int64_t tiles = 1;
  std::int64_t slotStride = 0;
  Word tilesBefore = 0;  ///< of earlier runs since prepare
  const Word* abort = nullptr;
  std::uint32_t chunksPerPart = 1;
  std::uint32_t chunksPerMessage = 1;
  std::uint32_t depth = 8;
  std::uint32_t strands = 1;
  Combine combine = Combine::sum;
  bool isSystemWide = false;  ///< several devices or host memory take part
  bool traces = false;
};

}  // namespace coppice::executor::cuda
