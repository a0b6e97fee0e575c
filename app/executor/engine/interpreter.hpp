// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/kernels.hpp"
#include "engine/script.hpp"

/// Runs the operations of one threadblock until it must wait. The state that threadblocks share (counters, messages,
/// flags, slots) holds no pointers, so it may be in memory that several processes map at different addresses.
///
/// Counters are raised and read in sequentially consistent order: a threadblock that marks itself as waiting and then
/// reads the counter once more, against one that raises it and then looks for the mark, cannot both miss each other.
namespace coppice::executor {

/// A count on a cache line of its own.
struct alignas(64) Counter {
  std::atomic<std::uint64_t> value = 0;
};

/// One message of a connection: a copy in its slot, or where the sender keeps the data.
struct Message {
  static constexpr std::int32_t kInSlot = -1;

  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int32_t rank = kInSlot;
  program::Buffer buffer = program::Buffer::input;
};

/// How far a threadblock is. Counts continue from run to run.
struct Cursor {
  std::int64_t tile = 0;  ///< of this run
  std::int32_t op = 0;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

enum class Wait : std::uint8_t { none, data, space, flag, done };

/// The value of a threadblock's flag when it has finished a step of a tile; grows over all runs since prepare.
/// @param tile counted over all runs
[[nodiscard]] inline std::uint64_t flagValue(std::uint64_t tile, std::int32_t step) {
  return tile << 20U | static_cast<std::uint64_t>(step + 1);
}

/// What an interpreter runs on. `Host` answers, all inline:
///   std::byte* base(int rank, program::Buffer)   start of a buffer
///   std::byte* slot(int connection, uint64 message number)
///   Message& message(int connection, uint64 message number)
///   std::atomic<uint64>& tail(int connection), head(int connection), flag(int block)
///   void sent(int connection), consumed(int connection), published(int block)   after the counter was raised
///   bool belongsHere(const Op&, int64 tile)   optional; false = another worker should run this operation
///   bool keepsOn()          false = give the worker back after this operation
///   void begins(const Op&), ends(int block, const Op&, int64 tile)   around an operation that moves data
///   static constexpr bool kIsAlone   optional; true = no other thread runs threadblocks, so nothing need be ordered
struct RunView {
  const Plan* plan = nullptr;
  const Script* script = nullptr;
  ReduceOp op = ReduceOp::sum;
  DataType type = DataType::float32;
  bool streams = false;           ///< final stores bypass the caches
  std::uint64_t tilesBefore = 0;  ///< tiles of earlier runs since prepare
};

template <typename Host>
[[nodiscard]] constexpr bool isAlone() {
  if constexpr (requires { Host::kIsAlone; }) {
    return Host::kIsAlone;
  }
  return false;
}

template <typename Host>
class Interpreter {
  static constexpr std::memory_order kOrder = isAlone<Host>() ? std::memory_order_relaxed : std::memory_order_seq_cst;

public:
  Interpreter(const RunView& view, Host& host) : m_view(view), m_script(*view.script), m_host(host) {}

  /// Wait::none = may continue, but the host wanted the worker back.
  Wait advance(int block, Cursor& cursor) {
    const ScriptBlock& range = m_script.blocks[block];
    const PlanBlock& owner = m_view.plan->blocks[block];
    while (true) {
      if (cursor.op == range.endOp) {
        if (range.firstOp == range.endOp || ++cursor.tile == m_script.tiles) {
          cursor.tile = m_script.tiles;
          return Wait::done;
        }
        cursor.op = range.firstOp;
      }
      const Op& op = m_script.ops[cursor.op];
      if (const Wait wait = obstacle(op, owner, cursor); wait != Wait::none) {
        return wait;
      }
      if constexpr (requires { m_host.belongsHere(op, cursor.tile); }) {
        if (!m_host.belongsHere(op, cursor.tile)) {
          return Wait::none;
        }
      }
      execute(op, owner, block, cursor);
      ++cursor.op;
      if (op.publishes) {
        m_host.flag(block).store(flagValue(m_view.tilesBefore + static_cast<std::uint64_t>(cursor.tile), op.number),
                                 kOrder);
        m_host.published(block);
      }
      if (!m_host.keepsOn()) {
        const bool atEnd = cursor.op == range.endOp && cursor.tile + 1 == m_script.tiles;
        if (!atEnd) {
          return Wait::none;
        }
      }
    }
  }

  /// What keeps the operation from running now.
  Wait obstacle(const Op& op, const PlanBlock& owner, const Cursor& cursor) {
    if (op.isFirst && op.waitBlock >= 0 && m_host.flag(op.waitBlock).load(kOrder) < awaited(op, cursor)) {
      return Wait::flag;
    }
    if (program::receives(op.type) && m_host.tail(owner.recvConnection).load(kOrder) == cursor.received) {
      return Wait::data;
    }
    if (program::sends(op.type) &&
        cursor.sent - m_host.head(owner.sendConnection).load(kOrder) >= static_cast<std::uint64_t>(m_script.depth)) {
      return Wait::space;
    }
    return Wait::none;
  }

  [[nodiscard]] std::uint64_t awaited(const Op& op, const Cursor& cursor) const {
    return flagValue(m_view.tilesBefore + static_cast<std::uint64_t>(cursor.tile), op.waitStep);
  }

private:
  void execute(const Op& op, const PlanBlock& owner, int block, Cursor& cursor) {
    using program::StepType;
    if (op.type == StepType::nop) {
      return;
    }
    m_host.begins(op);
    const std::int64_t shift = cursor.tile * m_script.tileBytes;
    std::int64_t bytes = m_script.bytesOf(op, cursor.tile);
    const std::byte* incoming = nullptr;
    if (program::receives(op.type)) {
      const Message& message = m_host.message(owner.recvConnection, cursor.received);
      incoming = message.rank == Message::kInSlot ? m_host.slot(owner.recvConnection, cursor.received)
                                                  : m_host.base(message.rank, message.buffer) + message.offset;
      bytes = bytes < message.bytes ? bytes : message.bytes;
    }
    const std::byte* source =
        program::usesSource(op.type) ? m_host.base(owner.rank, op.srcBuffer) + op.src + shift : nullptr;
    std::byte* target =
        program::usesDestination(op.type) ? m_host.base(owner.rank, op.dstBuffer) + op.dst + shift : nullptr;
    const Store store = op.isFinal && m_view.streams ? Store::streamed : Store::cached;
    const auto reduce = [&](std::byte* to, const std::byte* a, const std::byte* b, Store how) {
      reduceBytes(m_view.type, m_view.op, to, a, b, bytes, how);
    };
    switch (op.type) {
      case StepType::recv:
      case StepType::recvCopySend:
        copyBytes(target, incoming, bytes, store);
        break;
      case StepType::recvReduceSend:
        reduce(m_host.slot(owner.sendConnection, cursor.sent), incoming, source, Store::cached);
        break;
      case StepType::recvReduceCopy:
      case StepType::recvReduceCopySend:
        reduce(target, incoming, source, store);
        break;
      case StepType::copy:
        if (target != source) {
          copyBytes(target, source, bytes, store);
        }
        break;
      case StepType::reduce:
        reduce(target, target, source, store);
        break;
      case StepType::send:
      case StepType::nop:
        break;
    }
    if (program::receives(op.type)) {
      m_host.head(owner.recvConnection).store(++cursor.received, kOrder);
      m_host.consumed(owner.recvConnection);
    }
    if (program::sends(op.type)) {
      send(op, owner, cursor, bytes, op.type == StepType::send ? source : target, shift);
    }
    m_host.ends(block, op, cursor.tile);
  }

  void send(const Op& op, const PlanBlock& owner, Cursor& cursor, std::int64_t bytes, const std::byte* data,
            std::int64_t shift) {
    Message& message = m_host.message(owner.sendConnection, cursor.sent);
    message.bytes = bytes;
    message.rank = Message::kInSlot;
    if (op.byPointer) {
      const bool isSend = op.type == program::StepType::send;
      message.rank = owner.rank;
      message.buffer = isSend ? op.srcBuffer : op.dstBuffer;
      message.offset = (isSend ? op.src : op.dst) + shift;
    } else if (op.type != program::StepType::recvReduceSend) {
      copyBytes(m_host.slot(owner.sendConnection, cursor.sent), data, bytes, Store::cached);
    }
    m_host.tail(owner.sendConnection).store(++cursor.sent, kOrder);
    m_host.sent(owner.sendConnection);
  }

  const RunView& m_view;
  const Script& m_script;
  Host& m_host;
};

}  // namespace coppice::executor
