// SPDX-License-Identifier: Apache-2.0
#include "mscclpp/plan_machine.hpp"

#include <algorithm>
#include <chrono>

#include "engine/pause.hpp"

namespace coppice::executor {

namespace {

constexpr int kYields = 64;  // of a worker before it sleeps between two looks

using mscclpp::ChannelType;
using mscclpp::Operation;
using mscclpp::OpType;

std::vector<RunTransfer> movedBy(const mscclpp::ExecutionPlan& plan, std::int64_t chunkBytes, int rank, int block,
                                 const Operation& outer, const Operation& op) {
  return op.sources.empty() ? std::vector<RunTransfer>() : transfersOf(plan, chunkBytes, rank, block, outer, op);
}

}  // namespace

PlanMachine::PlanMachine(const mscclpp::ExecutionPlan& plan, const std::vector<int>& ownRanks, DataType type,
                         std::int64_t chunkBytes, int workers)
    : m_plan(plan), m_type(type), m_chunkBytes(chunkBytes), m_workers(workers), m_channels(plan) {
  const std::size_t ranks = plan.gpus.size();
  m_memory.resize(ranks);
  m_semaphores.resize(ranks);
  m_barriers.resize(ranks);
  m_ended.resize(ranks);
  for (std::size_t number = 0; number < m_channels.all().size(); ++number) {
    m_counters.emplace_back(0);
    m_ends.emplace_back();
    m_ends.back().number = number;
    m_ends.back().inbound = &m_counters.back();
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const mscclpp::Gpu& gpu = plan.gpus[rank];
    for (const int value : gpu.semaphores) {
      m_semaphores[rank].emplace_back(value);
    }
    for (int id = 0; id < mscclpp::kMaxBarriers; ++id) {
      m_barriers[rank].emplace_back();
    }
  }
  for (const int rank : ownRanks) {
    for (int index = 0; index < static_cast<int>(plan.gpus[rank].blocks.size()); ++index) {
      Block& block = m_blocks.emplace_back();
      block.rank = rank;
      block.index = index;
      for (const Operation& op : plan.gpus[rank].blocks[index].ops) {
        auto& transfers = block.transfers.emplace_back();
        for (const Operation& inner : op.inner) {
          transfers.push_back(movedBy(plan, chunkBytes, rank, index, op, inner));
        }
        if (op.inner.empty()) {
          transfers.push_back(movedBy(plan, chunkBytes, rank, index, op, op));
        }
      }
    }
  }
}

void PlanMachine::shareCounters(SignalCounter* counters) {
  for (std::size_t i = 0; i < m_ends.size(); ++i) {
    m_ends[i].inbound = counters + i;
  }
  m_counters.clear();
}

void PlanMachine::begin(int launches, std::uint64_t seed) {
  m_launchesBefore += static_cast<std::uint32_t>(m_launches);
  m_launches = launches;
  m_seed = seed;
  m_isStalled = false;
  for (Block& block : m_blocks) {
    block.launch = 0;
  }
  for (auto& ended : m_ended) {
    ended = 0;
  }
}

void PlanMachine::work(int worker, const std::atomic<bool>& stop, double stallSeconds) {
  std::mt19937_64 random(m_seed * 1000003 + static_cast<std::uint64_t>(worker));
  std::vector<Block*> mine;
  for (std::size_t i = static_cast<std::size_t>(worker); i < m_blocks.size();
       i += static_cast<std::size_t>(m_workers)) {
    mine.push_back(&m_blocks[i]);
  }
  std::vector<End*> ports;
  for (std::size_t rank = 0; rank < m_plan.gpus.size(); ++rank) {
    for (const int end : m_channels.portsOf(static_cast<int>(rank))) {
      if (end % m_workers == worker) {  // those of other ranks stay empty
        ports.push_back(&m_ends[end]);
      }
    }
  }
  std::shuffle(mine.begin(), mine.end(), random);
  using Clock = std::chrono::steady_clock;
  auto lastMove = Clock::now();
  std::uint64_t lastMoves = 0;
  Pause pause(kYields);
  for (bool isOpen = true; isOpen && !stop && !m_isStalled;) {
    isOpen = false;
    bool moves = false;
    for (Block* block : mine) {
      // Now and then one falls behind.
      const int turns = static_cast<int>(random() % 4);
      for (int turn = 0; turn < turns && block->launch < m_launches && step(*block); ++turn) {
        moves = true;
      }
      isOpen = isOpen || block->launch < m_launches;
    }
    for (End* end : ports) {
      if (random() % 2 == 0) {
        serve(*end, false);
      }
    }
    if (worker == 0 && m_network != nullptr && m_network->poll()) {
      moves = true;
    }
    if (moves) {
      m_moves.fetch_add(1, std::memory_order_relaxed);
      pause.restart();
      continue;
    }
    const std::uint64_t now = m_moves.load(std::memory_order_relaxed);
    if (now != lastMoves) {
      lastMoves = now;
      lastMove = Clock::now();
    } else if (stallSeconds > 0 && std::chrono::duration<double>(Clock::now() - lastMove).count() > stallSeconds) {
      m_isStalled = true;
    }
    pause.rest();
  }
  // Others may wait for what these ports still have to do.
  while (!stop && !m_isStalled) {
    for (End* end : ports) {
      serve(*end, true);
    }
    if (haveBlocksEnded()) {
      break;
    }
    if (worker == 0 && m_network != nullptr) {
      m_network->poll();
    }
    pause.rest();
  }
  for (End* end : ports) {
    serve(*end, true);
  }
}

bool PlanMachine::haveBlocksEnded() const {
  std::int64_t ended = 0;
  for (const std::atomic<std::int64_t>& count : m_ended) {
    ended += count.load(std::memory_order_acquire);
  }
  return ended >= static_cast<std::int64_t>(m_blocks.size()) * m_launches;
}

std::string PlanMachine::stuckText() const {
  for (const Block& block : m_blocks) {
    if (block.launch < m_launches) {
      const Operation* op = current(block);
      return mscclpp::placeText({block.rank, block.index, static_cast<int>(block.op)}) +
             (op == nullptr ? " waits for the other threadblocks of its rank"
                            : " (" + std::string(mscclpp::toString(op->type)) + ") waits");
    }
  }
  return {};
}

const Operation* PlanMachine::current(const Block& block) const {
  const auto& ops = m_plan.gpus[block.rank].blocks[block.index].ops;
  if (block.op >= ops.size()) {
    return nullptr;
  }
  const Operation& op = ops[block.op];
  return op.type != OpType::pipeline ? &op : op.inner.empty() ? nullptr : &op.inner[block.inner];
}

void PlanMachine::advance(Block& block) {
  const Operation& op = m_plan.gpus[block.rank].blocks[block.index].ops[block.op];
  if (op.type == OpType::pipeline) {
    if (++block.inner < op.inner.size()) {
      return;
    }
    block.inner = 0;
    if (++block.piece < piecesOf(op, m_chunkBytes)) {
      return;
    }
    block.piece = 0;
  }
  ++block.op;
}

/// One operation, or the start of the next launch; false where it has to wait.
bool PlanMachine::step(Block& block) {
  const mscclpp::Gpu& gpu = m_plan.gpus[block.rank];
  const auto blocks = static_cast<std::int64_t>(gpu.blocks.size());
  // A kernel starts when the one before has ended.
  if (m_ended[block.rank].load(std::memory_order_acquire) < blocks * block.launch) {
    return false;
  }
  const Operation* op = current(block);
  if (op == nullptr) {
    if (block.op < gpu.blocks[block.index].ops.size()) {
      ++block.op;
      return true;
    }
    block.op = 0;
    ++block.launch;
    m_ended[block.rank].fetch_add(1, std::memory_order_acq_rel);
    return true;
  }
  if (!execute(block, *op)) {
    return false;
  }
  advance(block);
  return true;
}

PlanMachine::End& PlanMachine::endOf(const Block& block, const Operation& op, std::size_t index) {
  return m_ends[m_channels.endOf(block.rank, block.index, op, index)];
}

bool PlanMachine::execute(Block& block, const Operation& op) {
  switch (op.type) {
    case OpType::nop:
    case OpType::flush:
    case OpType::pipeline:
      return true;
    case OpType::barrier: {
      Barrier& barrier = m_barriers[block.rank][op.barrier];
      if (!block.isAtBarrier) {
        block.round = barrier.round.load(std::memory_order_acquire);
        block.isAtBarrier = true;
        if (barrier.count.fetch_add(1, std::memory_order_acq_rel) + 1 == op.barrierBlocks) {
          barrier.count.store(0, std::memory_order_relaxed);
          barrier.round.fetch_add(1, std::memory_order_release);
        }
      }
      if (barrier.round.load(std::memory_order_acquire) == block.round) {
        return false;
      }
      block.isAtBarrier = false;
      return true;
    }
    case OpType::semRelease:
      for (const int id : op.semaphores) {
        m_semaphores[block.rank][id].fetch_add(1, std::memory_order_release);
      }
      return true;
    case OpType::semAcquire: {
      std::size_t taken = 0;
      for (; taken < op.semaphores.size(); ++taken) {
        std::atomic<int>& semaphore = m_semaphores[block.rank][op.semaphores[taken]];
        int value = semaphore.load(std::memory_order_acquire);
        while (value > 0 && !semaphore.compare_exchange_weak(value, value - 1, std::memory_order_acquire)) {
        }
        if (value <= 0) {
          break;
        }
      }
      if (taken < op.semaphores.size()) {
        while (taken > 0) {
          m_semaphores[block.rank][op.semaphores[--taken]].fetch_add(1, std::memory_order_release);
        }
        return false;
      }
      return true;
    }
    case OpType::signal:
    case OpType::relaxedSignal:
      for (std::size_t i = 0; i < op.channels.size(); ++i) {
        End& end = endOf(block, op, i);
        if (op.channelType == ChannelType::port) {
          const std::scoped_lock lock(end.mutex);
          end.pushes.push_back({.isSignal = true});
        } else {
          signalOther(end);
        }
      }
      return true;
    case OpType::wait:
    case OpType::relaxedWait:
      for (std::size_t i = 0; i < op.channels.size(); ++i) {
        const End& end = endOf(block, op, i);
        if (end.inbound->load(std::memory_order_acquire) <= end.expected) {
          return false;
        }
      }
      for (std::size_t i = 0; i < op.channels.size(); ++i) {
        ++endOf(block, op, i).expected;
      }
      return true;
    default:
      return movesByPort(op) ? moveByPort(block, op) : move(block);
  }
}

}  // namespace coppice::executor
