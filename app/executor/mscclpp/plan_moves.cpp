// SPDX-License-Identifier: Apache-2.0
// What the operations of a plan do with data.
#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/kernels.hpp"
#include "mscclpp/plan_machine.hpp"

namespace coppice::executor {
namespace {

using mscclpp::Operation;
using mscclpp::OpType;

/// A packet: four bytes and their flag, written at once.
std::atomic_ref<std::uint64_t> packetAt(std::byte* packets, std::int64_t index) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(packets + 8 * index));
}

}  // namespace

PlanMachine::Span PlanMachine::spanOf(const Block& block, const RunPlace& run, std::int64_t bytes) const {
  const FarPlace place = run.placeAt(flagOf(block), block.piece);
  std::byte* const base = m_memory[place.rank].start(place.buffer);
  return {base == nullptr ? nullptr : base + place.offset, bytes, run.isPacked, place};
}

std::vector<PlanMachine::Moved> PlanMachine::transfersNow(const Block& block) const {
  std::vector<Moved> all;
  for (const RunTransfer& transfer : block.transfers[block.op][block.inner]) {
    const std::int64_t bytes = transfer.bytesAt(block.piece);
    Moved& moved = all.emplace_back();
    moved.waits = transfer.waits;
    for (const RunPlace& run : transfer.sources) {
      moved.sources.push_back(spanOf(block, run, bytes));
    }
    for (const RunPlace& run : transfer.destinations) {
      moved.destinations.push_back(spanOf(block, run, bytes));
    }
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

bool PlanMachine::lacksFlags(const Block& block, const Moved& transfer) const {
  return transfer.waits && std::any_of(transfer.sources.begin(), transfer.sources.end(), [&](const Span& span) {
           return span.isPacked && !hasFlags(span, flagOf(block));
         });
}

/// Data of ranks behind the network; false until it is here.
bool PlanMachine::fetch(Block& block, std::vector<Moved>& transfers) {
  const bool isAsked = !block.reads.empty();
  std::size_t next = 0;
  for (Moved& transfer : transfers) {
    for (Span& span : transfer.sources) {
      if (span.at != nullptr) {
        continue;
      }
      if (!isAsked) {
        FarRead& read = block.reads.emplace_back();
        read.data.resize(static_cast<std::size_t>(span.bytes));
        read.missing = span.bytes;
        if (span.bytes > 0) {
          m_network->read(span.place, read);
        }
      }
      span.at = block.reads[next++].data.data();
    }
  }
  return std::all_of(block.reads.begin(), block.reads.end(),
                     [](const FarRead& read) { return read.missing.load(std::memory_order_acquire) == 0; });
}

void PlanMachine::store(const Span& to, const std::byte* data, std::uint32_t flag) {
  const auto bytes = static_cast<std::size_t>(to.bytes);
  if (to.at == nullptr) {
    std::vector<std::byte> message(to.isPacked ? 2 * bytes : bytes);
    if (to.isPacked) {
      pack(message.data(), data, to.bytes, flag);
    } else {
      std::copy_n(data, bytes, message.data());
    }
    m_network->write(to.place, std::move(message), to.isPacked);
  } else if (to.isPacked) {
    pack(to.at, data, to.bytes, flag);
  } else {
    std::memmove(to.at, data, bytes);
  }
}

bool PlanMachine::move(Block& block) {
  std::vector<Moved> transfers = transfersNow(block);
  if (std::any_of(transfers.begin(), transfers.end(),
                  [&](const Moved& transfer) { return lacksFlags(block, transfer); }) ||
      !fetch(block, transfers)) {
    return false;
  }
  for (const Moved& transfer : transfers) {
    const std::byte* const sum = addUp(block, transfer);
    for (const Span& span : transfer.destinations) {
      store(span, sum, flagOf(block));
    }
  }
  block.reads.clear();
  return true;
}

const std::byte* PlanMachine::addUp(Block& block, const Moved& transfer) const {
  const Span& first = transfer.sources.front();
  if (transfer.sources.size() == 1 && !first.isPacked) {
    return first.at;
  }
  const auto bytes = static_cast<std::size_t>(first.bytes);
  block.sum.resize(bytes);
  for (const Span& span : transfer.sources) {
    const std::byte* data = span.at;
    if (span.isPacked) {
      block.part.resize(bytes);
      unpack(block.part.data(), span);
      data = block.part.data();
    }
    if (&span == &first) {
      std::copy_n(data, bytes, block.sum.data());
    } else {
      add(block.sum.data(), data, first.bytes);
    }
  }
  return block.sum.data();
}

bool PlanMachine::moveByPort(Block& block, const Operation& op) {
  if (!block.hasPushed) {
    const std::vector<Moved> transfers = transfersNow(block);
    if (std::any_of(transfers.begin(), transfers.end(),
                    [&](const Moved& transfer) { return lacksFlags(block, transfer); })) {
      return false;
    }
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      End& end = endOf(block, op, i);
      const std::scoped_lock lock(end.mutex);
      end.pushes.push_back({false, transfers[i].sources.front(), transfers[i].destinations.front()});
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
    const int other = otherOf(end);
    const bool isFar = other >= 0 && m_memory[rankOf(other)].input == nullptr;
    if (!end.pushes.empty() || (isFar && !m_network->isSent(rankOf(other), end.lastSent))) {
      return false;
    }
  }
  block.hasPushed = false;
  return true;
}

void PlanMachine::signalOther(const End& end) {
  const int other = otherOf(end);
  if (other < 0) {
    return;
  }
  if (m_memory[rankOf(other)].input == nullptr) {
    m_network->signal(rankOf(other), other);
  } else {
    m_ends[other].inbound->fetch_add(1, std::memory_order_release);
  }
}

/// What the proxy of a port does: all of it, or the next.
void PlanMachine::serve(End& end, bool all) {
  const std::scoped_lock lock(end.mutex);
  while (!end.pushes.empty()) {
    const Push push = end.pushes.front();
    const auto bytes = static_cast<std::size_t>(push.source.bytes);
    const bool isPacked = push.destination.isPacked;
    if (push.isSignal) {
      signalOther(end);
    } else if (push.destination.at == nullptr) {
      // As a network card does, this reads the source later.
      end.lastSent = m_network->write(push.destination.place, {push.source.at, isPacked ? 2 * bytes : bytes}, isPacked);
    } else if (isPacked) {
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
