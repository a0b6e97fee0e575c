// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "base/progress.hpp"
#include "verify/program_flat.hpp"

/// Runs a flat program to its end or to its deadlock. No order has to be guessed and none sampled: each threadblock is
/// sequential, each connection has one writer and one reader, and flags only rise, so whatever can run next stays able
/// to (the program is a marked graph). Hence one execution stops exactly if all do, and at the same place.
///
/// One iteration of the program loop is enough. In the graph of all iterations (program order, dependencies, messages,
/// back-pressure) no edge leads to an earlier iteration; a cycle therefore lies within one, and all are alike.
namespace coppice::verify {

/// One message, or one step that exchanges none.
struct Event {
  int block = 0;
  std::uint32_t step = 0;
  int firstChunk = 0;  ///< within the step
  int chunks = 0;
  bool isFirst = false;  ///< of its step
  bool isLast = false;
  int sendConnection = -1;
  int recvConnection = -1;
  std::uint32_t sendSlot = 0;  ///< message number modulo the connection's depth
  std::uint32_t recvSlot = 0;
};

enum class Obstacle { none, dependency, message, space };

struct BlockState {
  std::uint32_t step = 0;  ///< flat
  int chunk = 0;           ///< next chunk of the step
  Obstacle obstacle = Obstacle::none;
};

/// @tparam Visitor void operator()(const Event&), called in an order that every synchronisation respects
template <typename Visitor>
class Execution {
public:
  /// @param depth messages that a sender may run ahead  @param chunksPerMessage how many chunks one message holds
  Execution(const FlatProgram& flat, std::uint32_t depth, int chunksPerMessage, Visitor& visitor,
            const Progress& progress)
      : m_flat(flat),
        m_depth(depth),
        m_chunksPerMessage(chunksPerMessage),
        m_visitor(visitor),
        m_progress(progress),
        m_states(flat.blocks.size()),
        m_sent(flat.connections.size()),
        m_received(flat.connections.size()),
        m_flags(flat.blocks.size()),
        m_waiting(flat.blocks.size()) {}

  /// Whether every threadblock reaches its end. Throws CancelledError.
  bool run() {
    for (std::size_t block = m_flat.blocks.size(); block-- > 0;) {
      m_states[block].step = m_flat.blocks[block].firstStep;
      m_ready.push_back(static_cast<int>(block));
    }
    while (!m_ready.empty()) {
      const int block = m_ready.back();
      m_ready.pop_back();
      advance(block);
    }
    return std::all_of(m_states.begin(), m_states.end(),
                       [](const BlockState& state) { return state.obstacle == Obstacle::none; });
  }

  /// Where each threadblock stands.
  [[nodiscard]] const std::vector<BlockState>& states() const { return m_states; }

private:
  using Waiter = std::pair<std::uint32_t, int>;  // (flat step whose flag is needed, threadblock)

  /// Runs one threadblock until it ends or meets an obstacle.
  void advance(int block) {
    BlockState& state = m_states[block];
    const FlatBlock& owner = m_flat.blocks[block];
    state.obstacle = Obstacle::none;
    for (; state.step < owner.endStep; ++state.step, state.chunk = 0) {
      if ((++m_stepsRun & 0xFFFU) == 0) {
        throwIfCancelled(m_progress);
      }
      const FlatStep& step = m_flat.steps[state.step];
      if (state.chunk == 0 && step.waitsForBlock >= 0 && m_flags[step.waitsForBlock] <= step.waitsForStep) {
        state.obstacle = Obstacle::dependency;
        m_waiting[step.waitsForBlock].emplace(step.waitsForStep, block);
        return;
      }
      if (!step.exchanges) {
        m_visitor(Event{.block = block, .step = state.step, .chunks = step.count, .isFirst = true, .isLast = true});
      } else if (!exchange(block, owner, step, state)) {
        return;
      }
      if (step.publishes) {
        publish(block, state.step);
      }
    }
  }

  /// Moves the messages of a step; a fused one takes from one side and gives to the other. False = obstacle.
  bool exchange(int block, const FlatBlock& owner, const FlatStep& step, BlockState& state) {
    const bool sending = program::sends(step.type);
    const bool receiving = program::receives(step.type);
    const auto in = static_cast<std::size_t>(owner.recvConnection);
    const auto out = static_cast<std::size_t>(owner.sendConnection);
    while (state.chunk < step.count) {
      if (receiving && m_sent[in] == m_received[in]) {
        state.obstacle = Obstacle::message;
        return false;
      }
      if (sending && m_sent[out] - m_received[out] >= m_depth) {
        state.obstacle = Obstacle::space;
        return false;
      }
      Event event = {.block = block, .step = state.step, .firstChunk = state.chunk};
      event.chunks = std::min(m_chunksPerMessage, step.count - state.chunk);
      event.isFirst = state.chunk == 0;
      event.isLast = state.chunk + event.chunks == step.count;
      if (receiving) {
        event.recvConnection = owner.recvConnection;
        event.recvSlot = m_received[in] % m_depth;
      }
      if (sending) {
        event.sendConnection = owner.sendConnection;
        event.sendSlot = m_sent[out] % m_depth;
      }
      m_visitor(event);
      state.chunk += event.chunks;
      if (receiving) {
        ++m_received[in];
        wake(m_flat.connections[in].sender, Obstacle::space);
      }
      if (sending) {
        ++m_sent[out];
        wake(m_flat.connections[out].receiver, Obstacle::message);
      }
    }
    return true;
  }

  void publish(int block, std::uint32_t step) {
    m_flags[block] = step + 1;
    auto& waiting = m_waiting[block];
    while (!waiting.empty() && waiting.top().first <= step) {
      wake(waiting.top().second, Obstacle::dependency);
      waiting.pop();
    }
  }

  void wake(int block, Obstacle obstacle) {
    BlockState& state = m_states[block];
    if (state.obstacle == obstacle) {
      state.obstacle = Obstacle::none;
      m_ready.push_back(block);
    }
  }

  const FlatProgram& m_flat;
  std::uint32_t m_depth;
  int m_chunksPerMessage;
  Visitor& m_visitor;
  const Progress& m_progress;
  std::vector<BlockState> m_states;
  std::vector<std::uint32_t> m_sent;  ///< messages per connection
  std::vector<std::uint32_t> m_received;
  std::vector<std::uint32_t> m_flags;  ///< per threadblock: last published flat step + 1
  std::vector<std::priority_queue<Waiter, std::vector<Waiter>, std::greater<>>> m_waiting;
  std::vector<int> m_ready;
  std::uint64_t m_stepsRun = 0;
};

}  // namespace coppice::verify
