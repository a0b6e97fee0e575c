// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/device_plan.hpp"
#include "cuda/movement.hpp"

/// The interpreter of one threadblock, for the device and, with a machine of host threads, for tests without one.
///
/// The leader, lane 0, runs the operations: it waits, works out addresses, and publishes. Whatever moves data becomes a
/// task that all lanes do together between two meetings (runBlock).
///
/// `Machine` answers:
///   unsigned lane(), lanes()          threads that run the block together
///   void sync()                       all lanes meet; orders memory among them
///   Shared& shared()                  memory of all lanes of the block
///   Word acquire(const Word*)         a load after which all is seen that its publisher had done or seen
///   void fence(); void publish(Word*, Word)   together a release of all that the lanes did before they met last
///   void idle(const Word*, Word seen, unsigned spins)   between two looks at a word that is not as wanted
///   static kPollSpins                 looks between two questions whether the run was aborted
///   bool isAborted(); void report(Word); Word now()
namespace coppice::executor::cuda {

enum class TaskKind : std::uint8_t { end, load, copy, combine };

/// What all lanes do at once.
struct Task {
  TaskKind kind = TaskKind::end;
  std::uint32_t bytes = 0;
  std::uint32_t first = 0;  ///< load: operation
  unsigned char* dst = nullptr;
  unsigned char* second = nullptr;  ///< null, or where a second copy of the result goes
  const unsigned char* a = nullptr;
  const unsigned char* b = nullptr;
};

/// Where the leader is. Only it looks here.
struct Leader {
  std::int64_t tile = 0;
  Word sent = 0;
  Word received = 0;
  Word credit = 0;  ///< messages that may be sent before the receiver's count must be looked at again
  Word started = 0;
  std::uint32_t step = 0;
  std::uint32_t chunk = 0;         ///< of the step
  std::uint32_t sendPosition = 0;  ///< sent % depth
  std::uint32_t recvPosition = 0;
  std::uint32_t loaded = 0xFFFFFFFFU;  ///< first operation in the window
  std::uint32_t bytes = 0;             ///< of the message under way
  std::uint32_t skew = 0;
  std::uint32_t traced = 0;
  std::uint32_t round = 0;  ///< tiles begun
  bool moves = false;       ///< the lanes are moving a message
  bool stops = false;       ///< an abort was seen
};

struct Shared {
  PackedOp window[kWindow];
  BlockView view;
  Task task;
  Leader leader;
};

/// Bytes of consecutive chunks, in all tiles together.
struct Stretch {
  std::int64_t begin = 0;
  std::int64_t bytes = 0;
};

inline constexpr unsigned kScratch = 2;
inline constexpr std::uint32_t kTilesBetweenPolls = 64;

/// As makeScript lays it out.
COPPICE_GPU inline std::int64_t chunkPlace(const RunView& run, std::uint32_t index, std::uint32_t past) {
  const std::uint32_t part = index / run.chunksPerPart;
  const std::int64_t offset = (index - part * run.chunksPerPart + past) * run.chunkBytes;
  return part * run.partBytes + (offset < run.partBytes ? offset : run.partBytes);
}
COPPICE_GPU inline Stretch stretchOf(const RunView& run, unsigned buffer, std::uint32_t first, std::uint32_t chunks) {
  if (buffer == kScratch) {
    return {first * run.chunkBytes, chunks * run.chunkBytes};
  }
  const std::int64_t begin = chunkPlace(run, first, 0);
  return {begin, chunkPlace(run, first + chunks - 1, 1) - begin};
}

COPPICE_GPU inline bool receives(OpType type) {
  return type == OpType::recv || type == OpType::recvCopySend || type == OpType::recvReduceSend ||
         type == OpType::recvReduceCopy || type == OpType::recvReduceCopySend;
}
COPPICE_GPU inline bool sends(OpType type) {
  return type == OpType::send || type == OpType::recvCopySend || type == OpType::recvReduceSend ||
         type == OpType::recvReduceCopySend;
}

/// What the leader does between tasks.
template <typename Machine>
class Interpreter {
public:
  COPPICE_GPU Interpreter(Machine& machine, const RunView& run)
      : m_machine(machine), m_run(run), m_view(machine.shared().view), m_at(machine.shared().leader) {}

  COPPICE_GPU void begin() {
    m_at = Leader();
    m_at.sent = m_view.counters[kSent];
    m_at.received = m_view.counters[kReceived];
    m_at.traced = static_cast<std::uint32_t>(m_view.counters[kTraced]);
    m_at.credit = m_at.sent;
    m_at.sendPosition = static_cast<std::uint32_t>(m_at.sent % m_run.depth);
    m_at.recvPosition = static_cast<std::uint32_t>(m_at.received % m_run.depth);
    m_at.tile = m_view.strand;
  }

  /// Ends the task that the lanes have done and continues to the next.
  COPPICE_GPU void next(Task& task) {
    if (m_at.moves) {
      m_at.moves = false;
      complete(m_machine.shared().window[m_at.step % kWindow]);
    }
    while (!m_at.stops) {
      if (m_at.step == m_view.opCount) {
        m_at.step = 0;
        m_at.tile += m_run.strands;
      }
      if (m_at.tile >= m_run.tiles || m_view.opCount == 0) {
        finish();
        task.kind = TaskKind::end;
        return;
      }
      const std::uint32_t first = m_at.step / kWindow * kWindow;
      if (first != m_at.loaded) {
        m_at.loaded = first;
        task.kind = TaskKind::load;
        task.first = first;
        return;
      }
      if (m_at.step == 0 && m_at.chunk == 0) {
        beginTile();
      }
      if (start(m_machine.shared().window[m_at.step % kWindow], task)) {
        m_at.moves = true;
        return;
      }
    }
    m_machine.report(makeProgress(BlockState::stopped, m_at.tile, m_at.step));
    task.kind = TaskKind::end;
  }

private:
  COPPICE_GPU void beginTile() {
    m_machine.report(makeProgress(BlockState::runs, m_at.tile, 0));
    if (++m_at.round % kTilesBetweenPolls == 0) {
      m_at.stops = m_machine.isAborted();
    }
  }

  COPPICE_GPU void finish() {
    m_view.counters[kSent] = m_at.sent;
    m_view.counters[kReceived] = m_at.received;
    m_view.counters[kTraced] = m_at.traced;
    m_machine.report(makeProgress(BlockState::done, m_run.tiles, 0));
  }

  [[nodiscard]] COPPICE_GPU std::uint32_t chunksOf(const PackedOp& op) const {
    const std::uint32_t left = op.count - m_at.chunk;
    return left < m_run.chunksPerMessage ? left : m_run.chunksPerMessage;
  }

  /// Waits for what the message (or the piece of a step that exchanges none) needs.
  /// @return whether the lanes must move it; if not, it is complete, or the run stops
  COPPICE_GPU bool start(const PackedOp& op, Task& task) {
    if (op.has(kWaits) && m_at.chunk == 0) {
      const Word wanted = flagValue(m_run.tilesBefore + static_cast<Word>(m_at.tile), op.waitStep);
      await(m_view.flags + std::size_t{op.waitBlock} * kFlagStride, BlockState::waitsForFlag,
            [wanted](Word seen) { return seen >= wanted; });
    }
    bool moves = false;
    if (op.type != OpType::nop && op.count > 0) {
      Word stamp = 0;
      if (receives(op.type)) {
        stamp = await(m_view.recvStamps + m_at.recvPosition, BlockState::waitsForData,
                      [number = m_at.received](Word seen) { return isStampOf(seen, number); });
      }
      if (sends(op.type)) {
        awaitSpace();
      }
      moves = lay(op, stamp, task);
    }
    if (m_at.stops) {
      return false;
    }
    m_at.started = m_run.traces ? m_machine.now() : 0;
    if (!moves) {
      complete(op);
    }
    return moves;
  }

  /// Works out what moves where. @return whether anything moves
  COPPICE_GPU bool lay(const PackedOp& op, Word stamp, Task& task) {
    const OpType type = op.type;
    const bool readsSource = type != OpType::recv && type != OpType::recvCopySend;
    const bool writesTarget = type != OpType::send && type != OpType::recvReduceSend;
    const std::uint32_t chunks = chunksOf(op);
    const std::int64_t shift = m_at.tile * m_run.tileBytes;
    std::int64_t bytes = INT64_MAX;
    unsigned char* source = nullptr;
    unsigned char* target = nullptr;
    if (readsSource) {
      const Stretch place = stretchOf(m_run, op.srcBuffer(), op.src + m_at.chunk, chunks);
      source = m_view.base[op.srcBuffer()] + place.begin + shift;
      bytes = place.bytes;
    }
    if (writesTarget) {
      const Stretch place = stretchOf(m_run, op.dstBuffer(), op.dst + m_at.chunk, chunks);
      target = m_view.base[op.dstBuffer()] + place.begin + shift;
      bytes = place.bytes < bytes ? place.bytes : bytes;
    }
    bytes -= shift;
    bytes = bytes < 0 ? 0 : bytes;
    if (m_run.tiles > 1 && bytes > m_run.tileBytes) {
      bytes = m_run.tileBytes;
    }
    const unsigned char* incoming = nullptr;
    if (receives(type)) {
      bytes = stampBytes(stamp) < bytes ? stampBytes(stamp) : bytes;
      if (op.has(kPulls)) {
        incoming =
            m_view.peerBase[op.peerBuffer()] + stretchOf(m_run, op.peerBuffer(), op.peer + m_at.chunk, 1).begin + shift;
      } else {
        incoming = m_view.recvSlots + m_at.recvPosition * m_run.slotStride + stampSkew(stamp);
      }
    }
    // A copy in a slot starts as far past a multiple of 16 as the data it comes from, so that both move in vectors.
    unsigned char* slot = nullptr;
    m_at.skew = 0;
    if (sends(type) && !op.has(kLends)) {
      const unsigned char* model = type == OpType::recvCopySend ? target : source;
      m_at.skew = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(model) & 15U);
      slot = m_view.sendSlots + m_at.sendPosition * m_run.slotStride + m_at.skew;
    }
    m_at.bytes = static_cast<std::uint32_t>(bytes);

    task.bytes = m_at.bytes;
    task.second = nullptr;
    task.b = source;
    switch (type) {
      case OpType::send:
        task.kind = TaskKind::copy;
        task.dst = slot;
        task.a = source;
        break;
      case OpType::recv:
      case OpType::recvCopySend:
        task.kind = TaskKind::copy;
        task.dst = target;
        task.second = slot;
        task.a = incoming;
        break;
      case OpType::copy:
        task.kind = TaskKind::copy;
        task.dst = target;
        task.a = source;
        break;
      case OpType::reduce:
        task.kind = TaskKind::combine;
        task.dst = target;
        task.a = target;
        break;
      case OpType::recvReduceSend:
        task.kind = TaskKind::combine;
        task.dst = slot;
        task.a = incoming;
        break;
      default:
        task.kind = TaskKind::combine;
        task.dst = target;
        task.second = slot;
        task.a = incoming;
        break;
    }
    return bytes > 0 && task.dst != nullptr && (task.kind == TaskKind::combine || task.dst != task.a);
  }

  /// All lanes have finished: signals the waiting blocks and moves on by one message.
  COPPICE_GPU void complete(const PackedOp& op) {
    const bool isMessage = op.type != OpType::nop && op.count > 0;
    const bool isSent = isMessage && sends(op.type);
    const bool isTaken = isMessage && receives(op.type);
    const bool isLast = !isMessage || m_at.chunk + chunksOf(op) >= op.count;
    const bool publishes = isLast && op.has(kPublishes);
    if (isSent || isTaken || publishes) {
      m_machine.fence();
    }
    if (isSent) {
      m_machine.publish(m_view.sendStamps + m_at.sendPosition, makeStamp(m_at.sent, m_at.skew, m_at.bytes));
      ++m_at.sent;
      m_at.sendPosition = m_at.sendPosition + 1 == m_run.depth ? 0 : m_at.sendPosition + 1;
    }
    if (isTaken) {
      ++m_at.received;
      m_machine.publish(m_view.recvHead, m_at.received);
      m_at.recvPosition = m_at.recvPosition + 1 == m_run.depth ? 0 : m_at.recvPosition + 1;
    }
    if (publishes) {
      m_machine.publish(m_view.ownFlag, flagValue(m_run.tilesBefore + static_cast<Word>(m_at.tile), m_at.step));
    }
    if (m_run.traces && isMessage) {
      trace();
    }
    if (isLast) {
      m_at.chunk = 0;
      ++m_at.step;
    } else {
      m_at.chunk += m_run.chunksPerMessage;
    }
  }

  /// Looks at the receiver's count only when the messages known to be consumed do not suffice.
  COPPICE_GPU void awaitSpace() {
    if (m_at.sent < m_at.credit) {
      return;
    }
    const Word depth = m_run.depth;
    m_at.credit = depth + await(m_view.sendHead, BlockState::waitsForSpace,
                                [sent = m_at.sent, depth](Word seen) { return sent - seen < depth; });
  }

  /// @return the word as wanted; anything if the run stops
  template <typename IsWanted>
  COPPICE_GPU Word await(const Word* word, BlockState state, IsWanted isWanted) {
    bool isReported = false;
    for (unsigned spins = 1; !m_at.stops; ++spins) {
      const Word seen = m_machine.acquire(word);
      if (isWanted(seen)) {
        if (isReported) {
          m_machine.report(makeProgress(BlockState::runs, m_at.tile, m_at.step));
        }
        return seen;
      }
      if (spins % Machine::kPollSpins == 0) {
        m_at.stops = m_machine.isAborted();
        if (!isReported) {
          isReported = true;
          m_machine.report(makeProgress(state, m_at.tile, m_at.step));
        }
      }
      m_machine.idle(word, seen, spins);
    }
    return 0;
  }

  COPPICE_GPU void trace() {
    if (m_at.traced < m_view.traceRoom) {
      TraceSlot& slot = m_view.trace[m_at.traced];
      slot.start = m_at.started;
      slot.end = m_machine.now();
      slot.tile = static_cast<std::uint32_t>(m_at.tile);
      slot.step = m_at.step;
    }
    ++m_at.traced;
  }

  Machine& m_machine;
  const RunView& m_run;
  const BlockView& m_view;
  Leader& m_at;
};

/// All tiles of the block's strand; called by every lane. `Element` says how elements are combined.
/// @pre shared().view is filled and all lanes have met since
template <typename Element, typename Machine>
COPPICE_GPU void runBlock(Machine& machine, const RunView& run) {
  Shared& shared = machine.shared();
  const Lanes lanes = {machine.lane(), machine.lanes()};
  Interpreter<Machine> interpreter(machine, run);
  if (lanes.lane == 0) {
    interpreter.begin();
  }
  while (true) {
    if (lanes.lane == 0) {
      interpreter.next(shared.task);
    }
    machine.sync();  // the task, and what the leader acquired, reach all lanes
    const Task task = shared.task;
    if (task.kind == TaskKind::end) {
      return;
    }
    if (task.kind == TaskKind::copy) {
      copyBytes(lanes, task.dst, task.second, task.a, task.bytes);
    } else if (task.kind == TaskKind::combine) {
      combineBytes<Element>(lanes, run.combine, task.dst, task.second, task.a, task.b, task.bytes);
    } else {
      const std::uint32_t left = shared.view.opCount - task.first;
      const std::uint32_t count = left < kWindow ? left : kWindow;
      for (std::uint32_t index = lanes.lane; index < count; index += lanes.lanes) {
        shared.window[index] = shared.view.ops[task.first + index];
      }
    }
    machine.sync();  // all of it is done before the leader says so
  }
}

}  // namespace coppice::executor::cuda
