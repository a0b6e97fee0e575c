// SPDX-License-Identifier: Apache-2.0
#include "flow/max_flow.hpp"

namespace coppice::flow {

int MaxFlow::addArc(int tail, int head, std::int64_t capacity) {
  m_out[tail].push_back({head, static_cast<int>(m_room.size())});
  m_room.push_back(capacity);
  m_out[head].push_back({tail, static_cast<int>(m_room.size())});
  m_room.push_back(0);
  m_capacity.push_back(capacity);
  return static_cast<int>(m_capacity.size()) - 1;
}

void MaxFlow::setCapacity(int arc, std::int64_t capacity) {
  m_capacity[arc] = capacity;
  m_room[2 * arc] = capacity;
  m_room[2 * arc + 1] = 0;
}

/// As BlockingFlow wants it, turned around: paths grow from the source along the arcs, and the sink feeds any
/// amount.
class MaxFlow::Network {
public:
  struct List {
    const std::vector<Half>& halves;
    [[nodiscard]] int size() const { return static_cast<int>(halves.size()); }
    [[nodiscard]] int node(int i) const { return halves[i].head; }
    [[nodiscard]] int arc(int i) const { return halves[i].arc; }
  };
  Network(MaxFlow& flow, int sink) : m_flow(flow), m_sink(sink) {}
  [[nodiscard]] List into(int node) const { return {m_flow.m_out[node]}; }
  [[nodiscard]] bool isOpen(int arc) const { return m_flow.m_room[arc] > 0; }
  [[nodiscard]] std::int64_t room(int arc) const { return m_flow.m_room[arc]; }
  void push(int arc, std::int64_t amount) {
    m_flow.m_room[arc] -= amount;
    m_flow.m_room[arc ^ 1] += amount;
  }
  [[nodiscard]] bool isUnlimited(int node) const { return node == m_sink; }
  [[nodiscard]] std::int64_t left(int /*node*/) const { return 0; }
  void take(int /*node*/, std::int64_t /*amount*/) {}

private:
  MaxFlow& m_flow;
  int m_sink;
};

std::int64_t MaxFlow::run(int source, int sink, std::int64_t enough) {
  m_flow.reserveNodes(static_cast<int>(m_out.size()));
  return m_flow.run(Network(*this, sink), source, enough);
}

std::vector<bool> MaxFlow::sourceSide(int source) const {
  std::vector<bool> side(m_out.size(), false);
  side[source] = true;
  std::vector<int> queue{source};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (const Half half : m_out[queue[head]]) {
      if (m_room[half.arc] > 0 && !side[half.head]) {
        side[half.head] = true;
        queue.push_back(half.head);
      }
    }
  }
  return side;
}

std::vector<bool> MaxFlow::sourceSideNearSink(int sink) const {
  std::vector<bool> side(m_out.size(), true);
  side[sink] = false;
  std::vector<int> queue{sink};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (const Half half : m_out[queue[head]]) {
      if (m_room[half.arc ^ 1] > 0 && side[half.head]) {
        side[half.head] = false;
        queue.push_back(half.head);
      }
    }
  }
  return side;
}

}  // namespace coppice::flow
