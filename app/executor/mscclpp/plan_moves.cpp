// SPDX-License-Identifier: Apache-2.0
// What the operations of a plan do with data.
#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/kernels.hpp"
#include "mscclpp/plan_machine.hpp"

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

PlanMachine::Span PlanMachine::spanOf(const Block& block, const Operation& op, const ChunkRun& run, int owner,
                                      Buffer buffer, bool isPacked, bool isRemote) const {
  const bool isScratch = buffer == Buffer::scratch;
  std::int64_t stride = m_chunkBytes;
  std::int64_t wrap = 0;
  if (isScratch && m_plan.reusesResources) {
    const std::int64_t chunks = m_plan.gpus[block.rank].scratchChunks;
    const std::int64_t all = mscclpp::kReusedScratchBytes / (m_plan.doublesScratch ? 2 : 1);
    wrap = ((all + chunks - 1) / chunks + m_plan.alignment - 1) / m_plan.alignment * m_plan.alignment;
    stride = std::min(stride, wrap);
  }
  std::int64_t start = 0;
  if (isScratch && m_plan.doublesScratch && (isPacked || !isRemote) && flagOf(block) % 2 == 0) {
    start = scratchBytes(m_plan, owner, m_chunkBytes) / 2;
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
  start += (isPacked ? 2 : 1) * (run.index * stride + first);
  std::byte* const base = m_memory[owner].start(buffer);
  return {base == nullptr ? nullptr : base + start, bytes, {owner, buffer, start}};
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

void PlanMachine::pack(std::byte* to, const std::byte* from, std::int64_t bytes, std::uint32_t flag) {
  for (std::int64_t i = 0; i < bytes / 4; ++i) {
    std::uint32_t data = 0;
    std::memcpy(&data, from + 4 * i, 4);
    packetAt(to, i).store(static_cast<std::uint64_t>(flag) << 32 | data, std::memory_order_release);
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

/// Data of ranks behind the network; false until it is here.
bool PlanMachine::fetch(Block& block, const std::vector<Span*>& sources) {
  if (block.reads.empty()) {
    for (const Span* span : sources) {
      if (span->at == nullptr) {
        FarRead& read = block.reads.emplace_back();
        read.data.resize(static_cast<std::size_t>(span->bytes));
        read.missing = span->bytes;
        if (span->bytes > 0) {
          m_network->read(span->place, read);
        }
      }
    }
  }
  std::size_t next = 0;
  for (Span* span : sources) {
    if (span->at == nullptr) {
      FarRead& read = block.reads[next++];
      if (read.missing.load(std::memory_order_acquire) > 0) {
        return false;
      }
      span->at = read.data.data();
    }
  }
  return true;
}

void PlanMachine::store(const Span& to, const std::byte* data, bool isPacked, std::uint32_t flag) {
  const auto bytes = static_cast<std::size_t>(to.bytes);
  if (to.at == nullptr) {
    std::vector<std::byte> message(isPacked ? 2 * bytes : bytes);
    if (isPacked) {
      pack(message.data(), data, to.bytes, flag);
    } else {
      std::copy_n(data, bytes, message.data());
    }
    m_network->write(to.place, std::move(message), isPacked);
  } else if (isPacked) {
    pack(to.at, data, to.bytes, flag);
  } else {
    std::memmove(to.at, data, bytes);
  }
}

bool PlanMachine::move(Block& block, const Operation& op) {
  const mscclpp::OpShape& shape = mscclpp::shapeOf(op.type);
  const std::uint32_t flag = flagOf(block);
  // Which entries are in packets: all sources but the own operand of a reduction, all destinations but its result.
  const bool isPair = op.type == OpType::put || op.type == OpType::putWithSignal ||
                      op.type == OpType::putWithSignalAndFlush || op.type == OpType::get ||
                      op.type == OpType::putPackets;
  const bool passesOn = op.type == OpType::readPutPackets || op.type == OpType::multiStorePackets;
  const bool isReduction = !isPair && op.sources.size() > 1;
  std::vector<Span> packed;
  std::vector<Span> plain;
  for (std::size_t i = 0; i < op.sources.size(); ++i) {
    const bool isPacked = shape.readsPackets && (!isReduction || i > 0);
    for (const Span& span : spansOf(block, op, op.sources[i], isPacked)) {
      (isPacked ? packed : plain).push_back(span);
    }
  }
  std::vector<Span*> sources;
  for (Span& span : plain) {
    sources.push_back(&span);
  }
  if (!std::all_of(packed.begin(), packed.end(), [&](const Span& span) { return hasFlags(span, flag); }) ||
      !fetch(block, sources)) {
    return false;
  }
  if (isPair) {
    for (std::size_t i = 0; i < op.destinations.size(); ++i) {
      const bool isPacked = op.type == OpType::putPackets;
      store(spansOf(block, op, op.destinations[i], isPacked).front(), plain[i].at, isPacked, flag);
    }
    block.reads.clear();
    return true;
  }
  addUp(block, plain, packed);
  block.reads.clear();
  for (std::size_t i = 0; i < op.destinations.size(); ++i) {
    const bool isPacked = shape.writesPackets && (passesOn || op.type == OpType::copyPackets || i > 0);
    for (Span span : spansOf(block, op, op.destinations[i], isPacked)) {
      span.bytes = static_cast<std::int64_t>(block.sum.size());
      store(span, block.sum.data(), isPacked, flag);
    }
  }
  return true;
}

void PlanMachine::addUp(Block& block, const std::vector<Span>& plain, const std::vector<Span>& packed) const {
  const std::int64_t bytes = packed.empty() ? plain.front().bytes : packed.front().bytes;
  block.sum.resize(static_cast<std::size_t>(bytes));
  bool isFirst = true;
  for (const Span& span : plain) {
    if (isFirst) {
      std::memcpy(block.sum.data(), span.at, static_cast<std::size_t>(bytes));
    } else {
      add(block.sum.data(), span.at, bytes);
    }
    isFirst = false;
  }
  std::vector<std::byte> part(static_cast<std::size_t>(packed.empty() ? 0 : bytes));
  for (const Span& span : packed) {
    unpack(isFirst ? block.sum.data() : part.data(), span);
    if (!isFirst) {
      add(block.sum.data(), part.data(), bytes);
    }
    isFirst = false;
  }
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
      end.pushes.push_back({false, isPacked, source, destination});
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
    const bool isFar = end.other >= 0 && m_memory[m_ends[end.other].rank].input == nullptr;
    if (!end.pushes.empty() || (isFar && !m_network->isSent(m_ends[end.other].rank, end.lastSent))) {
      return false;
    }
  }
  block.hasPushed = false;
  return true;
}

void PlanMachine::signalOther(const End& end) {
  if (end.other < 0) {
    return;
  }
  const End& other = m_ends[end.other];
  if (m_memory[other.rank].input == nullptr) {
    m_network->signal(other.rank, end.other);
  } else {
    other.inbound->fetch_add(1, std::memory_order_release);
  }
}

/// What the proxy of a port does: all of it, or the next.
void PlanMachine::serve(End& end, bool all) {
  const std::scoped_lock lock(end.mutex);
  while (!end.pushes.empty()) {
    const Push push = end.pushes.front();
    const auto bytes = static_cast<std::size_t>(push.source.bytes);
    if (push.isSignal) {
      signalOther(end);
    } else if (push.destination.at == nullptr) {
      // As a network card does, this reads the source later.
      end.lastSent =
          m_network->write(push.destination.place, {push.source.at, push.isPacked ? 2 * bytes : bytes}, push.isPacked);
    } else if (push.isPacked) {
      copyPackets(push.source.at, push.destination.at, push.source.bytes);
    } else {
      std::memcpy(push.destination.at, push.source.at, bytes);
    }
    end.pushes.pop_front();
    m_moves.fetch_add(1, std::memory_order_relaxed);
    if (!all) {
      return;
    }
  }
}

}  // namespace coppice::executor
