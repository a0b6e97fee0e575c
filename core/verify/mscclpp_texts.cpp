// SPDX-License-Identifier: Apache-2.0
#include "verify/mscclpp_machine.hpp"

#include <algorithm>

// Faults as they are told.
namespace coppice::verify::mscclpp_run {

int Run::ownerOf(std::int64_t cell) const {
  int owner = 0;
  for (int rank = 0; rank < static_cast<int>(m_plan.gpus.size()); ++rank) {
    if (std::min(m_layout.inputOf(rank), m_layout.outputOf(rank)) <= cell) {
      owner = rank;
    }
  }
  return owner;
}

std::string Run::nameOf(std::int64_t cell) const {
  const int rank = ownerOf(cell);
  char letter = 's';
  std::int64_t first = m_layout.scratchOf(rank, 0);
  std::int64_t stride = m_shape.scratchStride;
  if (cell < first) {
    const std::int64_t in = m_layout.inputOf(rank);
    const std::int64_t ins = m_plan.gpus[rank].inputChunks * m_shape.cellsPerChunk;
    const bool isInput = cell >= in && cell < in + ins && (!m_plan.inPlace || m_layout.outputOf(rank) >= in);
    letter = isInput ? 'i' : 'o';
    first = isInput ? in : m_layout.outputOf(rank);
    stride = m_shape.cellsPerChunk;
  }
  std::int64_t chunk = (cell - first) / std::max<std::int64_t>(1, stride);
  if (letter == 's' && m_plan.hasPackets()) {
    const std::int64_t half = m_layout.scratchOf(rank, 1) - m_layout.scratchOf(rank, 0);
    chunk = (half > 0 ? (cell - first) % half : cell - first) / std::max<std::int64_t>(1, 2 * stride);
  }
  return std::string(1, letter) + "[" + std::to_string(chunk) + "] of rank " + std::to_string(rank);
}

std::string Run::whoText(const MscclppAccess& access) const {
  const MscclppInstance& instance = m_instances[access.instance];
  if (instance.isCaller) {
    return "the caller of rank " + std::to_string(instance.place.rank);
  }
  const Operation* op = opAt(instance.place);
  return placeText(instance.place) + (op == nullptr ? "" : " (" + std::string(toString(op->type)) + ")");
}

const Operation* Run::opAt(const OpPlace& place) const {
  if (place.block < 0) {
    return nullptr;
  }
  const Operation& op = m_plan.gpus[place.rank].blocks[place.block].ops[place.op];
  return place.inner < 0 ? &op : &op.inner[place.inner];
}

void Run::tellRace(std::int64_t cell, const MscclppAccess& first, const char* firstDoes, const MscclppAccess& second,
                   const char* secondDoes, const MscclppTimes& times) {
  if (!m_told
           .emplace(m_instances[first.instance].place.rank, m_instances[first.instance].place.block,
                    m_instances[first.instance].place.op, m_instances[second.instance].place.rank,
                    m_instances[second.instance].place.block, m_instances[second.instance].place.op)
           .second) {
    return;
  }
  const MscclppInstance& before = m_instances[first.instance];
  const MscclppInstance& now = m_instances[second.instance];
  const OpPlace& place = now.isCaller ? before.place : now.place;
  const bool isSameBlock = !before.isCaller && before.place.rank == now.place.rank &&
                           before.place.block == now.place.block && before.launch == now.launch;
  std::string text = std::string(secondDoes) + " " + nameOf(cell) + ", which " + whoText(first) + " " + firstDoes;
  std::string fix;
  const bool isProxy = static_cast<std::size_t>(first.actor) >= m_blocks.size() + m_plan.gpus.size();
  if (before.isCaller) {
    text += " until rank " + std::to_string(before.place.rank) + " enters the launch, and nothing says that it has";
    fix = "let rank " + std::to_string(before.place.rank) + " signal first (rlxsignal), and wait for it (rlxwait, nop)";
  } else if (isProxy) {
    text += " by a port, and nothing says that the proxy is done";
    fix = "wait for a signal that the peer sends after it has the data";
  } else if (before.launch != now.launch) {
    text += " in the launch before, and nothing says that this has ended";
    fix = "exchange signals with rank " + std::to_string(before.place.rank) + " at the start or the end of a launch";
  } else if (isSameBlock) {
    text += ": the threads of the block share out the two differently, without a nop between";
    fix = "put a nop between the two";
  } else if (m_ended->knows(times.ended, first.actor, first.epoch)) {
    text += ": it has ended by then, but relaxed signals and flags of packets order no data";
    fix = "use signal and wait between the two";
  } else {
    text += ", and no signal, semaphore or barrier orders the two (without a nop before it, one tells nothing)";
    fix = before.place.rank == now.place.rank
              ? "order the threadblocks: nop and sem_release behind the first, sem_acquire and nop before the second"
              : "nop and signal behind the first, wait and nop before the second";
  }
  m_faults.fault(MscclppRule::race, place, text, fix);
}

void Run::tellDeadlock() {
  int listed = 0;
  for (const Block& block : m_blocks) {
    if (block.isDone) {
      continue;
    }
    OpPlace place;
    const Operation* op = current(block, place);
    if (op == nullptr || listed++ >= 8) {
      continue;
    }
    tellStuck(block, *op, place);
  }
}

void Run::tellStuck(const Block& block, const Operation& op, const OpPlace& place) {
  std::string text = std::string(toString(op.type)) + " waits without end";
  std::string fix = "look at what it waits for: no order of the threadblocks gets past it";
  if (op.type == OpType::wait || op.type == OpType::relaxedWait) {
    for (std::size_t lane = 0; lane < op.channels.size(); ++lane) {
      const End& end = endOf(block, op, lane);
      if (!end.notices.empty()) {
        continue;
      }
      text += ": signal " + std::to_string(end.waited + 1) + " of rank " + std::to_string(end.peer) + " on " +
              channelText(end) + " does not come";
      fix = end.other < 0 ? "rank " + std::to_string(end.peer) + " has no channel of that number back: connect one"
                          : "let rank " + std::to_string(end.peer) +
                                " signal, and see that it does not wait for this threadblock before";
      break;
    }
  } else if (op.type == OpType::semAcquire) {
    text += ": a semaphore is not released again";
    fix = "release it once for every time that it is acquired, in a threadblock that gets there";
  } else if (op.type == OpType::barrier) {
    text += ": of " + std::to_string(op.barrierBlocks) + " threadblocks, " +
            std::to_string(m_barriers[block.rank][op.barrier].arrived.size()) + " have come to barrier " +
            std::to_string(op.barrier);
    fix = "num_threadblocks must be the number of threadblocks that meet there";
  } else {
    text += " for packets that nobody writes, or that come from what waits for it";
    fix = "write them once in every launch (ppkt, cpkt, respkt), at that index";
  }
  m_faults.fault(MscclppRule::deadlock, place, text, fix);
}

}  // namespace coppice::verify::mscclpp_run
