// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "lowering/emit.hpp"

namespace coppice::lowering {

namespace {

/// The first iterations fill the pipeline; the rest are measured.
constexpr int kWarmUp = 3;
constexpr int kIterations = 6;

struct Fifo {
  std::vector<std::int64_t> sent;      // when the k-th chunk was there
  std::vector<std::int64_t> received;  // when its room was free again
  int sender = -1;
  int receiver = -1;
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
  explicit Stopwatch(const program::Program& program)
      : m_depth(static_cast<std::size_t>(program::connectionDepth(program.protocol))) {
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
        }
        if (block.recvPeer >= 0) {
          runner.in = &m_fifos[{block.recvPeer, rank, block.channel}];
          runner.in->receiver = self;
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
      while (advance(self)) {
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

  bool advance(int self) {
    Runner& runner = m_runners[self];
    if (runner.iteration == kIterations) {
      return false;
    }
    const program::Step& step = runner.block->steps[runner.step];
    std::int64_t start = runner.time;
    if (runner.chunk == 0 && step.dependsOnTb >= 0) {
      Runner& other = m_runners[runner.firstOfRank + step.dependsOnTb];
      const std::size_t target = static_cast<std::size_t>(runner.iteration) * other.block->steps.size() +
                                 static_cast<std::size_t>(step.dependsOnStep);
      if (other.done[target] < 0) {
        other.waiting.push_back(self);
        return false;
      }
      start = std::max(start, other.done[target]);
    }
    Fifo* const in = program::receives(step.type) ? runner.in : nullptr;
    Fifo* const out = program::sends(step.type) ? runner.out : nullptr;
    if (in != nullptr) {
      if (in->received.size() == in->sent.size()) {
        return false;
      }
      start = std::max(start, in->sent[in->received.size()]);
    }
    if (out != nullptr && out->sent.size() >= m_depth) {
      const std::size_t room = out->sent.size() - m_depth;
      if (room >= out->received.size()) {
        return false;
      }
      start = std::max(start, out->received[room]);
    }
    const bool isNop = step.type == program::StepType::nop;
    runner.time = isNop ? start : start + 1;
    if (in != nullptr) {
      in->received.push_back(runner.time);
      wake(in->sender);
    }
    if (out != nullptr) {
      out->sent.push_back(runner.time);
      wake(out->receiver);
    }
    if (isNop || ++runner.chunk == step.count) {
      runner.chunk = 0;
      runner.done[static_cast<std::size_t>(runner.iteration) * runner.block->steps.size() +
                  static_cast<std::size_t>(runner.step)] = runner.time;
      for (const int other : runner.waiting) {
        wake(other);
      }
      runner.waiting.clear();
      if (++runner.step == static_cast<int>(runner.block->steps.size())) {
        runner.step = 0;
        ++runner.iteration;
      }
    }
    return true;
  }

  const std::size_t m_depth;
  std::vector<Runner> m_runners;
  std::map<std::tuple<int, int, int>, Fifo> m_fifos;
  std::vector<int> m_queue;
};

}  // namespace

std::int64_t paceOf(const program::Program& program, const Progress& progress) {
  return Stopwatch(program).pace(progress);
}

}  // namespace coppice::lowering
