// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/movement.hpp"
#include "cuda/plan_device.hpp"

/// The interpreter of one threadblock of an execution plan, for the device and, with a machine of host threads, for
/// tests without one.
///
/// MSCCL++ lets all threads run each operation, and leaves it to the plan to let them meet. Here the leader, lane 0,
/// runs the operations one after the other: it signals, waits, and publishes what moves data as a task that all lanes
/// do together between two meetings. What a verified plan computes is the same.
///
/// Ports have no proxy: the block that asks writes to the peer itself, at once and in the order in which it asks.
/// Switches are not used: a sum by a switch reads every GPU of the group, a store by it writes to every one.
///
/// `Machine` answers, beside what block_interpreter.hpp asks for (lane, lanes, sync, acquire, fence, publish, idle,
/// kPollSpins, isAborted, report) and with shared() of type PlanShared:
///   Word add(Word*, Word)                      the value before; with the fences around it, a release and an acquire
///   Word exchange(Word*, Word seen, Word by)   the value before; it is replaced if it was as seen
///   Word loadPacket(const Word*), void storePacket(Word*, Word)      data and flag at once
///   Word watch(const Word* packet); void idlePacket(const Word* packet, Word watched, unsigned spins)
///   void tellPackets(const unsigned char*, bytes)                    they were stored
namespace coppice::executor::cuda {

struct PlanTask {
  bool isEnd = false;
  std::uint32_t transfer = 0;
  std::uint32_t bytes = 0;
  std::int64_t offset = 0;  ///< of the pipeline's piece
};

/// Where the leader is. Only it looks here.
struct PlanLeader {
  std::uint32_t op = 0;
  std::uint32_t transfer = 0;  ///< of the operation
  std::uint32_t pipeline = 0;  ///< the operation, where inPipeline
  std::uint32_t piece = 0;
  bool inPipeline = false;
  bool moves = false;  ///< the lanes are moving a transfer
  bool stops = false;  ///< an abort was seen
};

struct PlanShared {
  PlanView view;
  PlanTask task;
  PlanLeader leader;
  unsigned char* runs[kMaxRuns];
};

/// What the leader does between tasks.
template <typename Machine>
class PlanInterpreter {
public:
  COPPICE_GPU explicit PlanInterpreter(Machine& machine)
      : m_machine(machine), m_view(machine.shared().view), m_at(machine.shared().leader) {}

  COPPICE_GPU void begin() {
    m_at = PlanLeader();
    m_machine.report(progress(BlockState::runs));
  }

  /// Ends the task that the lanes have done and continues to the next.
  COPPICE_GPU void next(PlanTask& task) {
    if (m_at.moves) {
      m_at.moves = false;
      // A lane that waited for packets may have given up.
      m_at.stops = m_view.transfers[task.transfer].packedSources > 0 && m_machine.isAborted();
      ++m_at.transfer;
    }
    while (!m_at.stops) {
      if (m_at.inPipeline && m_at.op > m_at.pipeline + m_view.ops[m_at.pipeline].inner) {
        nextPiece();
        continue;
      }
      if (m_at.op >= m_view.opCount) {
        m_machine.report(makeProgress(BlockState::done, 0, m_at.op));
        task.isEnd = true;
        return;
      }
      const DeviceOp& op = m_view.ops[m_at.op];
      if (op.act == PlanAct::move && lay(op, task)) {
        m_at.moves = true;
        return;
      }
      if (op.act == PlanAct::pipeline) {
        m_at.inPipeline = true;
        m_at.pipeline = m_at.op;
        m_at.piece = 0;
      } else if (!execute(op)) {
        break;
      }
      m_at.transfer = 0;
      ++m_at.op;
    }
    m_machine.report(progress(BlockState::stopped));
    task.isEnd = true;
  }

private:
  [[nodiscard]] COPPICE_GPU Word progress(BlockState state) const { return makeProgress(state, m_at.piece, m_at.op); }

  COPPICE_GPU void nextPiece() {
    const DeviceOp& pipeline = m_view.ops[m_at.pipeline];
    if (++m_at.piece < pipeline.pieces) {
      m_at.op = m_at.pipeline + 1;
      m_machine.report(progress(BlockState::runs));
      m_at.stops = m_machine.isAborted();
    } else {
      m_at.inPipeline = false;
      m_at.piece = 0;
    }
  }

  /// @return whether a transfer of the operation is left
  COPPICE_GPU bool lay(const DeviceOp& op, PlanTask& task) {
    for (; m_at.transfer < op.transfers; ++m_at.transfer) {
      task.transfer = op.firstTransfer + m_at.transfer;
      const DeviceTransfer& transfer = m_view.transfers[task.transfer];
      std::int64_t bytes = transfer.bytes;
      task.offset = 0;
      if (m_at.inPipeline) {
        const std::int64_t unit = m_view.ops[m_at.pipeline].unitBytes;
        task.offset = unit * m_at.piece;
        if (transfer.isSliced) {
          bytes -= task.offset;
          bytes = bytes < unit ? bytes : unit;
        }
      }
      if (bytes > 0) {
        task.bytes = static_cast<std::uint32_t>(bytes);
        return true;
      }
    }
    return false;
  }

  /// All but moving data. @return false if the run stops
  COPPICE_GPU bool execute(const DeviceOp& op) {
    Word* const* const words = m_view.words + op.firstWord;
    switch (op.act) {
      case PlanAct::barrier:
        return meet(words[0], op.blocks);
      case PlanAct::acquire:
        for (unsigned i = 0; i < op.words; ++i) {
          if (!take(words[i])) {
            return false;
          }
        }
        return true;
      case PlanAct::release:
        m_machine.fence();
        for (unsigned i = 0; i < op.words; ++i) {
          m_machine.add(words[i], 1);
        }
        return true;
      case PlanAct::wait:
        for (unsigned i = 0; i < op.words; ++i) {
          const Word awaited = m_machine.acquire(words[i] + kAwaited);
          if (!await(words[i] + kArrived, BlockState::waitsForData,
                     [awaited](Word arrived) { return arrived > awaited; })) {
            return false;
          }
          m_machine.publish(words[i] + kAwaited, awaited + 1);
        }
        return true;
      default:  // signals; those behind a move too
        if (op.words > 0 && !op.isRelaxed) {
          m_machine.fence();
        }
        for (unsigned i = 0; i < op.words; ++i) {
          m_machine.add(words[i] + kArrived, 1);
        }
        return true;
    }
  }

  COPPICE_GPU bool meet(Word* barrier, std::uint32_t blocks) {
    const Word round = m_machine.acquire(barrier + kRound);
    m_machine.fence();
    if (m_machine.add(barrier + kCome, 1) + 1 == blocks) {
      m_machine.publish(barrier + kCome, 0);
      m_machine.fence();
      m_machine.publish(barrier + kRound, round + 1);
      return true;
    }
    return await(barrier + kRound, BlockState::waitsForFlag, [round](Word now) { return now != round; });
  }

  /// Waits until it can take one from a semaphore.
  COPPICE_GPU bool take(Word* semaphore) {
    while (await(semaphore, BlockState::waitsForFlag, [](Word value) { return value > 0; })) {
      for (Word seen = m_machine.acquire(semaphore); seen > 0;) {
        const Word before = m_machine.exchange(semaphore, seen, seen - 1);
        if (before == seen) {
          m_machine.fence();
          return true;
        }
        seen = before;
      }
    }
    return false;
  }

  /// @return false if the run stops
  template <typename IsWanted>
  COPPICE_GPU bool await(const Word* word, BlockState state, IsWanted isWanted) {
    bool isReported = false;
    for (unsigned spins = 1;; ++spins) {
      const Word seen = m_machine.acquire(word);
      if (isWanted(seen)) {
        if (isReported) {
          m_machine.report(progress(BlockState::runs));
        }
        return true;
      }
      if (spins % Machine::kPollSpins == 0) {
        if (m_machine.isAborted()) {
          m_at.stops = true;
          return false;
        }
        if (!isReported) {
          isReported = true;
          m_machine.report(progress(state));
        }
      }
      m_machine.idle(word, seen, spins);
    }
  }

  Machine& m_machine;
  const PlanView& m_view;
  PlanLeader& m_at;
};

/// Packets in pairs of words: 4 bytes of data, then their flag.
inline constexpr unsigned kPacketsOfVector = sizeof(Vector) / 4;

/// Waits until 16 bytes of data are there. @return false if the run stops
template <typename Machine>
COPPICE_GPU inline bool loadPackets(Machine& machine, const unsigned char* at, std::uint32_t flag, Vector& into) {
  const Word* const packets = reinterpret_cast<const Word*>(at);
  bool isReported = false;
  for (unsigned spins = 1;; ++spins) {
    const Word watched = machine.watch(packets);
    bool areHere = true;
    COPPICE_UNROLL
    for (unsigned i = 0; i < kPacketsOfVector; ++i) {
      const Word packet = machine.loadPacket(packets + i);
      into.words[i] = static_cast<std::uint32_t>(packet);
      areHere = areHere && static_cast<std::uint32_t>(packet >> 32U) == flag;
    }
    const PlanLeader& leader = machine.shared().leader;
    if (areHere) {
      if (isReported) {
        machine.report(makeProgress(BlockState::runs, leader.piece, leader.op));
      }
      return true;
    }
    if (spins % Machine::kPollSpins == 0) {
      if (machine.isAborted()) {
        return false;
      }
      if (machine.lane() == 0 && !isReported) {
        isReported = true;
        machine.report(makeProgress(BlockState::waitsForData, leader.piece, leader.op));
      }
    }
    machine.idlePacket(packets, watched, spins);
  }
}

template <typename Machine>
COPPICE_GPU inline void storePackets(Machine& machine, unsigned char* at, std::uint32_t flag, const Vector& value) {
  Word* const packets = reinterpret_cast<Word*>(at);
  COPPICE_UNROLL
  for (unsigned i = 0; i < kPacketsOfVector; ++i) {
    machine.storePacket(packets + i, static_cast<Word>(flag) << 32U | value.words[i]);
  }
}

/// What a port does with packets that lie in scratch already.
template <typename Machine>
COPPICE_GPU inline void copyPackets(Machine& machine, Lanes lanes, unsigned char* dst, const unsigned char* src,
                                    std::uint32_t bytes) {
  for (std::uint32_t packet = lanes.lane; packet < bytes / 4; packet += lanes.lanes) {
    machine.storePacket(reinterpret_cast<Word*>(dst) + packet,
                        machine.loadPacket(reinterpret_cast<const Word*>(src) + packet));
  }
  machine.tellPackets(dst, 2 * std::int64_t{bytes});
}

/// @param runs of the transfer, where they are now
template <typename Element, typename Machine>
COPPICE_GPU inline void moveTransfer(Machine& machine, Lanes lanes, const DeviceTransfer& transfer,
                                     unsigned char* const* runs, std::uint32_t bytes, std::uint32_t flag) {
  const unsigned sources = transfer.sources();
  const unsigned plainDestinations = transfer.plainDestinations;
  unsigned char* const* const destinations = runs + sources;
  const bool isPlain = transfer.packedSources == 0 && transfer.packedDestinations == 0;
  if (transfer.copiesFlags) {
    copyPackets(machine, lanes, destinations[0], runs[0], bytes);
    return;
  }
  if (isPlain && sources == 1 && plainDestinations <= 2) {
    copyBytes(lanes, destinations[0], plainDestinations == 2 ? destinations[1] : nullptr, runs[0], bytes);
    return;
  }
  if (isPlain && sources == 2 && plainDestinations <= 2) {
    combineAs<Element, Combine::sum>(lanes, destinations[0], plainDestinations == 2 ? destinations[1] : nullptr,
                                     runs[0], runs[1], bytes);
    return;
  }
  constexpr auto kBytes = static_cast<std::uint32_t>(sizeof(Vector));
  for (std::uint32_t item = lanes.lane; item < bytes / kBytes; item += lanes.lanes) {
    const std::size_t place = std::size_t{item} * kBytes;
    Vector sum = {};
    for (unsigned i = 0; i < sources; ++i) {
      Vector value = {};
      if (i < transfer.plainSources) {
        value = loadAt<Vector>(runs[i] + place);
      } else if (!loadPackets(machine, runs[i] + 2 * place, flag, value)) {
        return;
      }
      sum = i == 0 ? value : combined<Element, Combine::sum>(sum, value);
    }
    for (unsigned i = 0; i < plainDestinations; ++i) {
      storeAt<Vector>(destinations[i] + place, sum);
    }
    for (unsigned i = 0; i < transfer.packedDestinations; ++i) {
      storePackets(machine, destinations[plainDestinations + i] + 2 * place, flag, sum);
    }
  }
  for (unsigned i = 0; i < transfer.packedDestinations; ++i) {
    machine.tellPackets(destinations[plainDestinations + i], 2 * std::int64_t{bytes});
  }
}

/// All operations of the block; called by every lane. `Element` says how elements are added.
/// @pre shared().view is filled and all lanes have met since
template <typename Element, typename Machine>
COPPICE_GPU void runPlanBlock(Machine& machine, const PlanRun& run) {
  PlanShared& shared = machine.shared();
  const Lanes lanes = {machine.lane(), machine.lanes()};
  PlanInterpreter<Machine> interpreter(machine);
  if (lanes.lane == 0) {
    shared.task = PlanTask();
    interpreter.begin();
  }
  while (true) {
    if (lanes.lane == 0) {
      interpreter.next(shared.task);
    }
    machine.sync();  // the task, and what the leader acquired, reach all lanes
    const PlanTask task = shared.task;
    if (task.isEnd) {
      return;
    }
    const DeviceTransfer transfer = shared.view.transfers[task.transfer];
    for (unsigned i = lanes.lane; i < transfer.runs(); i += lanes.lanes) {
      const DeviceRun place = shared.view.runs[transfer.firstRun + i];
      const std::int64_t offset = !place.isSliced ? 0 : place.wrap > 0 ? task.offset % place.wrap : task.offset;
      shared.runs[i] = place.at + (run.flag % 2 == 0 ? place.half : 0) + offset;
    }
    machine.sync();
    moveTransfer<Element>(machine, lanes, transfer, shared.runs, task.bytes, run.flag);
    machine.sync();  // all of it is done before the leader says so
  }
}

}  // namespace coppice::executor::cuda
