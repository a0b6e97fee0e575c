// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <vector>

#include "lowering/emit.hpp"

namespace coppice::lowering {

namespace {

/// The first iterations fill the pipeline; the rest are measured.
constexpr int kWarmUp = 3;
constexpr int kIterations = 6;

/// Chunks on their way between two thread blocks, at most as many as the connection holds.
class Fifo {
public:
  int sender = -1;
  int receiver = -1;

  void setDepth(std::size_t depth) {
    m_depth = depth;
    m_sentAt.resize(std::bit_ceil(depth));
    m_freeAt.resize(m_sentAt.size());
  }
  [[nodiscard]] bool isEmpty() const { return m_received == m_sent; }
  [[nodiscard]] bool isFull() const { return m_sent == m_received + m_depth; }
  /// When the next chunk was there. @pre not empty
  [[nodiscard]] std::int64_t sentAt() const { return m_sentAt[m_received & (m_sentAt.size() - 1)]; }
  /// When there was room for another. @pre not full
  [[nodiscard]] std::int64_t freeAt() const {
    return m_sent < m_depth ? 0 : m_freeAt[(m_sent - m_depth) & (m_freeAt.size() - 1)];
  }
  void send(std::int64_t time) { m_sentAt[m_sent++ & (m_sentAt.size() - 1)] = time; }
  void receive(std::int64_t time) { m_freeAt[m_received++ & (m_freeAt.size() - 1)] = time; }

private:
  std::size_t m_depth = 0;
  std::size_t m_sent = 0;
  std::size_t m_received = 0;
  std::vector<std::int64_t> m_sentAt;
  std::vector<std::int64_t> m_freeAt;
};

struct Runner {
  const program::ThreadBlock* block = nullptr;
  int firstOfRank = 0;
  int iteration = 0;
  int step = 0;
  int chunk = 0;
  std::int64_t time = 0;
  std::vector<std::int64_t> done;  // by iteration and step, -1 = not yet
  std::vector<int> waiting;        // runners that wait for one of these steps
  Fifo* in = nullptr;
  Fifo* out = nullptr;
  bool isQueued = true;
};

/// Runs every chunk as a message of its own: a Kahn network, whose times do not depend on who is looked at first.
class Stopwatch {
public:
  explicit Stopwatch(const program::Program& program) {
    const auto depth = static_cast<std::size_t>(program::connectionDepth(program.protocol));
    for (int rank = 0; rank < static_cast<int>(program.ranks.size()); ++rank) {
      const int first = static_cast<int>(m_runners.size());
      for (const program::ThreadBlock& block : program.ranks[rank].threadBlocks) {
        Runner runner;
        runner.block = &block;
        runner.firstOfRank = first;
        runner.done.assign(block.steps.size() * kIterations, -1);
        const int self = static_cast<int>(m_runners.size());
        if (block.sendPeer >= 0) {
          runner.out = &m_fifos[{rank, block.sendPeer, block.channel}];
          runner.out->sender = self;
          runner.out->setDepth(depth);
        }
        if (block.recvPeer >= 0) {
          runner.in = &m_fifos[{block.recvPeer, rank, block.channel}];
          runner.in->receiver = self;
          runner.in->setDepth(depth);
        }
        m_queue.push_back(self);
        m_runners.push_back(std::move(runner));
      }
    }
  }

  /// 0 if the run gets stuck.
  std::int64_t pace(const Progress& progress) {
    while (!m_queue.empty()) {
      throwIfCancelled(progress);
      const int self = m_queue.back();
      m_queue.pop_back();
      m_runners[self].isQueued = false;
      while (m_runners[self].iteration < kIterations && advance(self)) {
      }
    }
    std::int64_t warm = 0;
    std::int64_t end = 0;
    for (const Runner& runner : m_runners) {
      const std::size_t steps = runner.block->steps.size();
      if (runner.iteration < kIterations) {
        return 0;
      }
      warm = std::max(warm, runner.done[steps * kWarmUp - 1]);
      end = std::max(end, runner.done[steps * kIterations - 1]);
    }
    return std::max<std::int64_t>(1, (end - warm) / (kIterations - kWarmUp));
  }

private:
  void wake(int runner) {
    if (runner >= 0 && !m_runners[runner].isQueued) {
      m_runners[runner].isQueued = true;
      m_queue.push_back(runner);
    }
  }

  /// Runs what is left of the step. False: the runner must wait.
  bool advance(int self) {
    Runner& runner = m_runners[self];
    const std::size_t steps = runner.block->steps.size();
    const program::Step& step = runner.block->steps[runner.step];
    if (runner.chunk == 0 && step.dependsOnTb >= 0) {
      Runner& other = m_runners[runner.firstOfRank + step.dependsOnTb];
      const std::int64_t done = other.done[runner.iteration * other.block->steps.size() + step.dependsOnStep];
      if (done < 0) {
        other.waiting.push_back(self);
        return false;
      }
      runner.time = std::max(runner.time, done);
    }
    if (step.type != program::StepType::nop && !moveChunks(runner, step)) {
      return false;
    }
    runner.chunk = 0;
    runner.done[runner.iteration * steps + runner.step] = runner.time;
    for (const int other : runner.waiting) {
      wake(other);
    }
    runner.waiting.clear();
    if (++runner.step == static_cast<int>(steps)) {
      runner.step = 0;
      ++runner.iteration;
    }
    return true;
  }

  /// Moves chunks of the step as far as connections allow. True: all of them.
  bool moveChunks(Runner& runner, const program::Step& step) {
    Fifo* const in = program::receives(step.type) ? runner.in : nullptr;
    Fifo* const out = program::sends(step.type) ? runner.out : nullptr;
    const int first = runner.chunk;
    while (runner.chunk < step.count && (in == nullptr || !in->isEmpty()) && (out == nullptr || !out->isFull())) {
      std::int64_t start = runner.time;
      start = in != nullptr ? std::max(start, in->sentAt()) : start;
      start = out != nullptr ? std::max(start, out->freeAt()) : start;
      runner.time = start + 1;
      if (in != nullptr) {
        in->receive(runner.time);
      }
      if (out != nullptr) {
        out->send(runner.time);
      }
      ++runner.chunk;
    }
    if (runner.chunk > first) {
      wake(in != nullptr ? in->sender : -1);
      wake(out != nullptr ? out->receiver : -1);
    }
    return runner.chunk == step.count;
  }

  std::vector<Runner> m_runners;
  std::map<std::tuple<int, int, int>, Fifo> m_fifos;
  std::vector<int> m_queue;
};

}  // namespace

std::int64_t paceOf(const program::Program& program, const Progress& progress) {
  return Stopwatch(program).pace(progress);
}

}  // namespace coppice::lowering
