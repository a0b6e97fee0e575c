// SPDX-License-Identifier: Apache-2.0
#include "mscclpp/plan_machine.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>
#include <tuple>

#include "engine/kernels.hpp"

namespace coppice::executor {

namespace {

using mscclpp::Buffer;
using mscclpp::ChannelType;
using mscclpp::ChunkRun;
using mscclpp::Operation;
using mscclpp::OpType;

/// A packet: four bytes and their flag, written at once.
std::atomic_ref<std::uint64_t> packetAt(std::byte* packets, std::int64_t index) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(packets + 8 * index));
}

/// The part of a run that a threadblock of a group takes.
std::int64_t cutOf(std::int64_t bytes, std::int64_t alignment, int index, int parts) {
  const std::int64_t units = bytes / alignment;
  return (index * (units / parts) + std::min<std::int64_t>(index, units % parts)) * alignment;
}

}  // namespace

std::int64_t PlanMachine::scratchBytes(const mscclpp::ExecutionPlan& plan, int rank, std::int64_t chunkBytes) {
  const std::int64_t chunks = plan.gpus[rank].scratchChunks;
  if (plan.reusesResources && chunks > 0) {
    return mscclpp::kReusedScratchBytes;
  }
  return chunks * chunkBytes * (plan.hasPackets() ? 2 : 1) * (plan.doublesScratch ? 2 : 1);
}

PlanMachine::PlanMachine(const mscclpp::ExecutionPlan& plan, DataType type, std::int64_t chunkBytes, int workers)
    : m_plan(plan), m_type(type), m_chunkBytes(chunkBytes), m_workers(workers) {
  const std::size_t ranks = plan.gpus.size();
  m_memory.resize(ranks);
  m_memoryEnds.resize(ranks);
  m_portEnds.resize(ranks);
  m_semaphores.resize(ranks);
  m_barriers.resize(ranks);
  m_ended.resize(ranks);
  std::map<std::tuple<bool, int, int>, std::vector<int>> byPeer;
  for (int rank = 0; rank < static_cast<int>(ranks); ++rank) {
    const mscclpp::Gpu& gpu = plan.gpus[rank];
    for (const bool isPort : {false, true}) {
      for (const int peer : isPort ? gpu.portPeers : gpu.memoryPeers) {
        (isPort ? m_portEnds : m_memoryEnds)[rank].push_back(static_cast<int>(m_ends.size()));
        byPeer[{isPort, rank, peer}].push_back(static_cast<int>(m_ends.size()));
        m_ends.emplace_back();
      }
    }
    for (const int value : gpu.semaphores) {
      m_semaphores[rank].emplace_back(value);
    }
    for (int id = 0; id < mscclpp::kMaxBarriers; ++id) {
      m_barriers[rank].emplace_back();
    }
    for (int index = 0; index < static_cast<int>(gpu.blocks.size()); ++index) {
      m_blocks.push_back({.rank = rank, .index = index});
    }
  }
  for (const auto& [key, mine] : byPeer) {
    const auto& [isPort, rank, peer] = key;
    const auto theirs = byPeer.find({isPort, peer, rank});
    for (std::size_t k = 0; theirs != byPeer.end() && k < std::min(mine.size(), theirs->second.size()); ++k) {
      m_ends[mine[k]].other = theirs->second[k];
    }
  }
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
  for (const auto& ends : m_portEnds) {
    for (const int end : ends) {
      if (end % m_workers == worker) {
        ports.push_back(&m_ends[end]);
      }
    }
  }
  std::shuffle(mine.begin(), mine.end(), random);
  using Clock = std::chrono::steady_clock;
  auto lastMove = Clock::now();
  std::uint64_t lastMoves = 0;
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
    if (moves) {
      m_moves.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    const std::uint64_t now = m_moves.load(std::memory_order_relaxed);
    if (now != lastMoves) {
      lastMoves = now;
      lastMove = Clock::now();
    } else if (stallSeconds > 0 && std::chrono::duration<double>(Clock::now() - lastMove).count() > stallSeconds) {
      m_isStalled = true;
    }
    std::this_thread::yield();
  }
  // Others may wait for what these ports still have to do.
  const std::int64_t all = static_cast<std::int64_t>(m_blocks.size()) * m_launches;
  while (!stop && !m_isStalled) {
    for (End* end : ports) {
      serve(*end, true);
    }
    std::int64_t ended = 0;
    for (const std::atomic<std::int64_t>& count : m_ended) {
      ended += count.load(std::memory_order_acquire);
    }
    if (ended >= all) {
      break;
    }
    std::this_thread::yield();
  }
  for (End* end : ports) {
    serve(*end, true);
  }
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
    const std::int64_t pieces = (op.unitChunks * m_chunkBytes + op.unitBytes - 1) / op.unitBytes;
    if (++block.piece < pieces) {
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
  const mscclpp::ThreadBlock& tb = m_plan.gpus[block.rank].blocks[block.index];
  const bool isPort = op.channelType == ChannelType::port;
  const int channel = (isPort ? tb.portChannels : tb.memoryChannels)[op.channels[index]];
  return m_ends[(isPort ? m_portEnds : m_memoryEnds)[block.rank][channel]];
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
        } else if (end.other >= 0) {
          m_ends[end.other].inbound.fetch_add(1, std::memory_order_release);
        }
      }
      return true;
    case OpType::wait:
    case OpType::relaxedWait:
      for (std::size_t i = 0; i < op.channels.size(); ++i) {
        const End& end = endOf(block, op, i);
        if (end.inbound.load(std::memory_order_acquire) <= end.expected) {
          return false;
        }
      }
      for (std::size_t i = 0; i < op.channels.size(); ++i) {
        ++endOf(block, op, i).expected;
      }
      return true;
    default:
      return op.channelType == ChannelType::port && mscclpp::shapeOf(op.type).port ? moveByPort(block, op)
                                                                                   : move(block, op);
  }
}

PlanMachine::Span PlanMachine::spanOf(const Block& block, const Operation& op, const ChunkRun& run, int owner,
                                      Buffer buffer, bool isPacked, bool isRemote) const {
  const PlanMemory& memory = m_memory[owner];
  const bool isScratch = buffer == Buffer::scratch;
  std::int64_t stride = m_chunkBytes;
  std::int64_t wrap = 0;
  if (isScratch && m_plan.reusesResources) {
    const std::int64_t chunks = m_plan.gpus[block.rank].scratchChunks;
    const std::int64_t all = mscclpp::kReusedScratchBytes / (m_plan.doublesScratch ? 2 : 1);
    wrap = ((all + chunks - 1) / chunks + m_plan.alignment - 1) / m_plan.alignment * m_plan.alignment;
    stride = std::min(stride, wrap);
  }
  std::byte* base = buffer == Buffer::input ? memory.input : buffer == Buffer::output ? memory.output : memory.scratch;
  if (isScratch && m_plan.doublesScratch && (isPacked || !isRemote) && flagOf(block) % 2 == 0) {
    base += scratchBytes(m_plan, owner, m_chunkBytes) / 2;
  }
  const std::int64_t size = run.size * m_chunkBytes;
  std::int64_t first = cutOf(size, m_plan.alignment, op.groupIndex, op.groupSize);
  std::int64_t bytes = cutOf(size, m_plan.alignment, op.groupIndex + 1, op.groupSize) - first;
  const Operation& outer = m_plan.gpus[block.rank].blocks[block.index].ops[block.op];
  if (outer.type == OpType::pipeline && !isPacked) {
    const std::int64_t offset = outer.unitBytes * block.piece;
    bytes = std::clamp<std::int64_t>(bytes - offset, 0, outer.unitBytes);
    first += wrap > 0 ? offset % wrap : offset;
  }
  return {base + (isPacked ? 2 : 1) * (run.index * stride + first), bytes};
}

std::vector<PlanMachine::Span> PlanMachine::spansOf(const Block& block, const Operation& op, const ChunkRun& run,
                                                    bool isPacked) const {
  const mscclpp::Gpu& gpu = m_plan.gpus[block.rank];
  const mscclpp::ThreadBlock& tb = gpu.blocks[block.index];
  if (run.place == ChunkRun::Place::local) {
    return {spanOf(block, op, run, block.rank, run.buffer, isPacked, false)};
  }
  if (run.place == ChunkRun::Place::remote) {
    const auto& list = op.channelType == ChannelType::port ? tb.portBuffers : tb.memoryBuffers;
    const mscclpp::RemoteBuffer& remote = gpu.remoteBuffers[list[run.id]];
    return {spanOf(block, op, run, remote.rank, remote.buffer, isPacked, true)};
  }
  std::vector<Span> all;
  const mscclpp::SwitchGroup& group = gpu.switchGroups[tb.switchGroups[run.id]];
  for (const int member : group.ranks) {
    all.push_back(spanOf(block, op, run, member, group.buffer, isPacked, true));
  }
  return all;
}

bool PlanMachine::hasFlags(const Span& packets, std::uint32_t flag) {
  for (std::int64_t i = 0; i < packets.bytes / 4; ++i) {
    if (packetAt(packets.at, i).load(std::memory_order_acquire) >> 32 != flag) {
      return false;
    }
  }
  return true;
}

void PlanMachine::unpack(std::byte* to, const Span& packets) {
  for (std::int64_t i = 0; i < packets.bytes / 4; ++i) {
    const auto data = static_cast<std::uint32_t>(packetAt(packets.at, i).load(std::memory_order_acquire));
    std::memcpy(to + 4 * i, &data, 4);
  }
}

void PlanMachine::pack(const Span& packets, const std::byte* from, std::uint32_t flag) {
  for (std::int64_t i = 0; i < packets.bytes / 4; ++i) {
    std::uint32_t data = 0;
    std::memcpy(&data, from + 4 * i, 4);
    packetAt(packets.at, i).store(static_cast<std::uint64_t>(flag) << 32 | data, std::memory_order_release);
  }
}

void PlanMachine::copyPackets(const std::byte* from, std::byte* to, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes / 4; ++i) {
    const std::uint64_t packet = packetAt(const_cast<std::byte*>(from), i).load(std::memory_order_acquire);
    packetAt(to, i).store(packet, std::memory_order_release);
  }
}

void PlanMachine::add(std::byte* into, const std::byte* other, std::int64_t bytes) const {
  reduceBytes(m_type, ReduceOp::sum, into, into, other, bytes, Store::cached);
}

bool PlanMachine::move(Block& block, const Operation& op) {
  const mscclpp::OpShape& shape = mscclpp::shapeOf(op.type);
  const std::uint32_t flag = flagOf(block);
  const auto spans = [&](const ChunkRun& run, bool isPacked) { return spansOf(block, op, run, isPacked); };
  const bool isPair = op.type == OpType::put || op.type == OpType::putWithSignal ||
                      op.type == OpType::putWithSignalAndFlush || op.type == OpType::get ||
                      op.type == OpType::putPackets;
  if (isPair) {
    for (std::size_t i = 0; i < op.destinations.size(); ++i) {
      const Span source = spans(op.sources[i], false).front();
      const Span destination = spans(op.destinations[i], op.type == OpType::putPackets).front();
      if (op.type == OpType::putPackets) {
        pack(destination, source.at, flag);
      } else {
        std::memmove(destination.at, source.at, static_cast<std::size_t>(source.bytes));
      }
    }
    return true;
  }
  // Which entries are in packets: all sources but the own operand of a reduction, all destinations but its result.
  const bool passesOn = op.type == OpType::readPutPackets || op.type == OpType::multiStorePackets;
  const bool isReduction = op.sources.size() > 1;
  std::vector<Span> packed;
  std::vector<Span> plain;
  for (std::size_t i = 0; i < op.sources.size(); ++i) {
    const bool isPacked = shape.readsPackets && (!isReduction || i > 0);
    for (const Span& span : spans(op.sources[i], isPacked)) {
      (isPacked ? packed : plain).push_back(span);
    }
  }
  for (const Span& span : packed) {
    if (!hasFlags(span, flag)) {
      return false;
    }
  }
  const std::int64_t bytes = packed.empty() ? plain.front().bytes : packed.front().bytes;
  block.sum.resize(static_cast<std::size_t>(bytes));
  bool isFirst = true;
  std::vector<std::byte> part;
  for (const Span& span : plain) {
    if (isFirst) {
      std::memcpy(block.sum.data(), span.at, static_cast<std::size_t>(bytes));
    } else {
      add(block.sum.data(), span.at, bytes);
    }
    isFirst = false;
  }
  for (const Span& span : packed) {
    part.resize(static_cast<std::size_t>(bytes));
    unpack(isFirst ? block.sum.data() : part.data(), span);
    if (!isFirst) {
      add(block.sum.data(), part.data(), bytes);
    }
    isFirst = false;
  }
  for (std::size_t i = 0; i < op.destinations.size(); ++i) {
    const bool isPacked = shape.writesPackets && (passesOn || op.type == OpType::copyPackets || i > 0);
    for (const Span& span : spans(op.destinations[i], isPacked)) {
      if (isPacked) {
        pack(span, block.sum.data(), flag);
      } else {
        std::memcpy(span.at, block.sum.data(), static_cast<std::size_t>(bytes));
      }
    }
  }
  return true;
}

bool PlanMachine::moveByPort(Block& block, const Operation& op) {
  const bool isPacked = op.type == OpType::readPutPackets || op.type == OpType::putPackets;
  if (!block.hasPushed) {
    if (op.type == OpType::readPutPackets &&
        !hasFlags(spansOf(block, op, op.sources[0], true).front(), flagOf(block))) {
      return false;
    }
    for (std::size_t i = 0; i < op.destinations.size(); ++i) {
      const std::size_t from = op.type == OpType::readPutPackets ? 0 : i;
      const Span source = spansOf(block, op, op.sources[from], isPacked).front();
      const Span destination = spansOf(block, op, op.destinations[i], isPacked).front();
      End& end = endOf(block, op, i);
      const std::scoped_lock lock(end.mutex);
      end.pushes.push_back({false, isPacked, source.at, destination.at, source.bytes});
      if (op.type == OpType::putWithSignal || op.type == OpType::putWithSignalAndFlush) {
        end.pushes.push_back({.isSignal = true});
      }
    }
    if (op.type != OpType::putWithSignalAndFlush) {
      return true;
    }
    block.hasPushed = true;
  }
  for (std::size_t i = 0; i < op.destinations.size(); ++i) {
    End& end = endOf(block, op, i);
    const std::scoped_lock lock(end.mutex);
    if (!end.pushes.empty()) {
      return false;
    }
  }
  block.hasPushed = false;
  return true;
}

/// What the proxy of a port does: all of it, or the next.
void PlanMachine::serve(End& end, bool all) {
  const std::scoped_lock lock(end.mutex);
  while (!end.pushes.empty()) {
    const Push push = end.pushes.front();
    if (push.isSignal) {
      if (end.other >= 0) {
        m_ends[end.other].inbound.fetch_add(1, std::memory_order_release);
      }
    } else if (push.isPacked) {
      copyPackets(push.source, push.destination, push.bytes);
    } else {
      std::memcpy(push.destination, push.source, static_cast<std::size_t>(push.bytes));
    }
    end.pushes.pop_front();
    m_moves.fetch_add(1, std::memory_order_relaxed);
    if (!all) {
      return;
    }
  }
}

}  // namespace coppice::executor
