// SPDX-License-Identifier: Apache-2.0
#include "lowering/order.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "base/rows.hpp"

namespace coppice::lowering {

namespace {

class ChainRun {
public:
  ChainRun(const Moves& moves, const Plan& plan, const Waits& waits)
      : m_moves(moves),
        m_plan(plan),
        m_waits(waits),
        m_headOf(moves.moves.size(), -1),
        m_missing(moves.moves.size(), 0),
        m_ready(moves.moves.size(), 0),
        m_free(static_cast<std::size_t>(plan.firstBlock.back()), 0) {
    for (const int head : plan.heads) {
      for (int m = head; m >= 0; m = plan.next[m]) {
        m_headOf[m] = head;
      }
    }
    m_waiting.assign(2 * moves.moves.size(), [&](const auto& add) {
      for (const auto& [event, waiting] : waits.pairs) {
        if (m_headOf[event / 2] != m_headOf[waiting / 2]) {
          add(event, waiting);
        }
      }
    });
    for (const int waiting : m_waiting.entries()) {
      ++m_missing[m_headOf[waiting / 2]];
    }
  }

  std::vector<Event> run(const Progress& progress) {
    for (const int head : m_plan.heads) {
      if (m_missing[head] == 0) {
        m_queue.push(candidate(head));
      }
    }
    m_order.reserve(m_plan.events);
    while (!m_queue.empty()) {
      throwIfCancelled(progress);
      const Candidate top = m_queue.top();
      m_queue.pop();
      if (const Candidate now = candidate(top.head); now.finish > top.finish) {
        m_queue.push(now);
      } else {
        take(top.head);
      }
    }
    return std::move(m_order);
  }

private:
  struct Candidate {
    std::int64_t finish = 0;
    int remaining = 0;
    int head = 0;
    bool operator>(const Candidate& other) const {
      return std::tie(finish, other.remaining, head) > std::tie(other.finish, remaining, other.head);
    }
  };

  [[nodiscard]] const Move& at(int message) const { return m_moves.moves[message]; }
  [[nodiscard]] int sendBlockOf(int message) const { return m_plan.sendBlockOf(at(message), message); }
  [[nodiscard]] int recvBlockOf(int message) const { return m_plan.recvBlockOf(at(message), message); }

  [[nodiscard]] std::int64_t startOf(int head) const {
    std::int64_t start = m_ready[head];
    std::int64_t hop = 0;
    for (int m = head; m >= 0; m = m_plan.next[m], ++hop) {
      start = std::max({start, m_free[sendBlockOf(m)] - hop, m_free[recvBlockOf(m)] - hop});
    }
    return start;
  }
  [[nodiscard]] Candidate candidate(int head) const {
    std::int64_t hops = 0;
    for (int m = head; m_plan.next[m] >= 0; m = m_plan.next[m]) {
      ++hops;
    }
    return Candidate{startOf(head) + hops + at(head).count, m_waits.remaining[head], head};
  }
  void take(int first) {
    m_order.push_back({first, false});
    std::int64_t time = startOf(first);
    release(idOf({first, false}), time + at(first).count);
    for (int m = first; m >= 0; m = m_plan.next[m], ++time) {
      m_order.push_back({m, true});
      const std::int64_t done = time + at(m).count;
      m_free[sendBlockOf(m)] = std::max(m_free[sendBlockOf(m)], done);
      m_free[recvBlockOf(m)] = std::max(m_free[recvBlockOf(m)], done);
      release(idOf({m, true}), done);
    }
  }
  void release(int event, std::int64_t done) {
    for (const int waiting : m_waiting[event]) {
      const int head = m_headOf[waiting / 2];
      m_ready[head] = std::max(m_ready[head], done);
      if (--m_missing[head] == 0) {
        m_queue.push(candidate(head));
      }
    }
  }

  const Moves& m_moves;
  const Plan& m_plan;
  const Waits& m_waits;
  Rows<int> m_waiting;  ///< by event: those of other chains that wait for it
  std::vector<int> m_headOf;
  std::vector<int> m_missing;  ///< by head: arrivals that other chains still owe it
  std::vector<std::int64_t> m_ready;
  std::vector<std::int64_t> m_free;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> m_queue;
  std::vector<Event> m_order;
};

class GreedyRun {
public:
  GreedyRun(const Moves& moves, const Plan& plan, const Waits& waits, const RunStyle& style, const Options& options)
      : m_moves(moves),
        m_plan(plan),
        m_waits(waits),
        m_style(style),
        m_depth(
            static_cast<std::size_t>(program::connectionDepth(options.protocol.value_or(program::Protocol::simple)))),
        m_missing(2 * moves.moves.size(), 0),
        m_receiverOf(moves.moves.size(), -1),
        m_ready(2 * moves.moves.size(), 0),
        m_blocks(static_cast<std::size_t>(plan.firstBlock.back())),
        m_fifos(plan.connections.size()) {
    listEvents();
    listWaits();
  }

  std::vector<Event> run(const Progress& progress) {
    for (const int event : m_all) {
      if (m_missing[event] == 0) {
        push(event);
      }
    }
    m_order.reserve(m_all.size());
    while (!m_queue.empty()) {
      throwIfCancelled(progress);
      const Candidate top = m_queue.top();
      m_queue.pop();
      const int number = blockOf(top.event);
      Block& block = m_blocks[number];
      if (top != block.offered) {
        continue;  // the threadblock offers another by now
      }
      block.offered = {};
      block.drop(top.event);
      take(top);
      offer(number);
    }
    return std::move(m_order);
  }

private:
  struct Candidate {
    std::int64_t start = 0;
    int remaining = 0;
    int event = -1;
    bool operator>(const Candidate& other) const {
      return std::tie(start, other.remaining, event) > std::tie(other.start, remaining, other.event);
    }
    friend bool operator==(const Candidate&, const Candidate&) = default;
  };
  using Queue = std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>>;
  /// A threadblock offers one event at a time to the whole machine: those behind it could only start later.
  struct Block {
    std::int64_t free = 0;
    Queue later;        ///< not ready at `free`; start: when they are
    Queue now;          ///< ready at `free`; start: 0, or the rank of the style
    Candidate offered;  ///< event -1 = none

    void drop(int event) {
      Queue& queue = !now.empty() && now.top().event == event ? now : later;
      queue.pop();
    }
  };
  struct Fifo {
    std::vector<int> sent;  // messages
    std::size_t received = 0;
    std::vector<int> blocked;  // events that wait for room
  };

  [[nodiscard]] const Move& at(int message) const { return m_moves.moves[message]; }
  [[nodiscard]] bool isTaken(int message) const { return m_style.phase < 0 || at(message).phase == m_style.phase; }
  [[nodiscard]] int comesIn(int event) const {
    if (m_style.backwards) {
      return event % 2 == 0 ? event / 2 : m_plan.next[event / 2];
    }
    return event % 2 == 0 ? -1 : event / 2;
  }
  [[nodiscard]] int goesOut(int event) const {
    if (m_style.backwards) {
      return event % 2 == 0 ? -1 : event / 2;
    }
    return event % 2 == 0 ? event / 2 : m_plan.next[event / 2];
  }
  [[nodiscard]] int blockOf(int event) const {
    const int m = event / 2;
    return event % 2 == 0 ? m_plan.sendBlockOf(at(m), m) : m_plan.recvBlockOf(at(m), m);
  }

  void listEvents() {
    for (const int m : m_moves.order) {
      if (!isTaken(m)) {
        continue;
      }
      if (m_plan.previous[m] < 0) {
        m_all.push_back(idOf({m, false}));
      }
      m_all.push_back(idOf({m, true}));
    }
    for (const int event : m_all) {
      if (const int in = comesIn(event); in >= 0) {
        m_receiverOf[in] = event;
        ++m_missing[event];
      }
    }
  }
  void listWaits() {
    m_waiting.assign(2 * m_moves.moves.size(), [&](const auto& add) {
      for (const auto& [event, waiting] : m_waits.pairs) {
        if (isTaken(event / 2) && isTaken(waiting / 2)) {
          add(m_style.backwards ? waiting : event, m_style.backwards ? event : waiting);
        }
      }
    });
    for (const int waiting : m_waiting.entries()) {
      ++m_missing[waiting];
    }
  }

  void push(int event) {
    const int m = event / 2;
    const int hops = m_style.backwards ? m_waits.passed[m] + event % 2 : m_waits.remaining[m] + 1 - event % 2;
    const int number = blockOf(event);
    Block& block = m_blocks[number];
    if (!m_style.rank.empty()) {
      block.now.push({m_style.rank[event], hops, event});
    } else if (m_ready[event] <= block.free) {
      block.now.push({0, hops, event});
    } else {
      block.later.push({m_ready[event], hops, event});
    }
    offer(number);
  }
  /// Puts the first event of a threadblock into the queue, unless it is there.
  void offer(int number) {
    Block& block = m_blocks[number];
    while (!block.later.empty() && block.later.top().start <= block.free) {
      const Candidate ready = block.later.top();
      block.later.pop();
      block.now.push({0, ready.remaining, ready.event});
    }
    if (block.now.empty() && block.later.empty()) {
      return;
    }
    Candidate first = block.now.empty() ? block.later.top() : block.now.top();
    if (!block.now.empty() && m_style.rank.empty()) {
      first.start = block.free;
    }
    if (first != block.offered) {
      block.offered = first;
      m_queue.push(first);
    }
  }
  void release(int event, std::int64_t time) {
    m_ready[event] = std::max(m_ready[event], time);
    if (--m_missing[event] == 0) {
      push(event);
    }
  }

  void take(const Candidate& top) {
    const int leaving = goesOut(top.event);
    Fifo* const out = leaving < 0 ? nullptr : &m_fifos[m_plan.connectionOf[leaving]];
    if (out != nullptr && out->sent.size() - out->received >= m_depth) {
      out->blocked.push_back(top.event);
      return;
    }
    std::int64_t& free = m_blocks[blockOf(top.event)].free;
    const std::int64_t done = std::max(m_ready[top.event], free) + at(top.event / 2).count;
    free = done;
    m_order.push_back({top.event / 2, top.event % 2 != 0});
    if (out != nullptr) {
      const int receiver = m_receiverOf[leaving];
      out->sent.push_back(leaving);
      if (out->sent.size() - out->received == 1) {
        release(receiver, done);
      } else {
        m_ready[receiver] = std::max(m_ready[receiver], done);
      }
    }
    if (const int arriving = comesIn(top.event); arriving >= 0) {
      takeIn(m_fifos[m_plan.connectionOf[arriving]], done);
    }
    for (const int waiting : m_waiting[top.event]) {
      release(waiting, done);
    }
  }
  void takeIn(Fifo& in, std::int64_t done) {
    ++in.received;
    if (in.received < in.sent.size()) {
      release(m_receiverOf[in.sent[in.received]], 0);
    }
    for (const int event : std::exchange(in.blocked, {})) {
      m_ready[event] = std::max(m_ready[event], done);
      push(event);
    }
  }

  const Moves& m_moves;
  const Plan& m_plan;
  const Waits& m_waits;
  const RunStyle& m_style;
  const std::size_t m_depth;
  std::vector<int> m_all;
  Rows<int> m_waiting;  ///< by event: those that wait for it
  std::vector<int> m_missing;
  std::vector<int> m_receiverOf;  ///< by message: the event that takes it in
  std::vector<std::int64_t> m_ready;
  std::vector<Block> m_blocks;
  std::vector<Fifo> m_fifos;
  Queue m_queue;
  std::vector<Event> m_order;
};

}  // namespace

std::vector<Event> orderOfChains(const Moves& moves, const Plan& plan, const Waits& waits, const Progress& progress) {
  return ChainRun(moves, plan, waits).run(progress);
}

std::vector<Event> greedyRun(const Moves& moves, const Plan& plan, const Waits& waits, const RunStyle& style,
                             const Options& options, const Progress& progress) {
  return GreedyRun(moves, plan, waits, style, options).run(progress);
}

}  // namespace coppice::lowering
