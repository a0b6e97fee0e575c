// SPDX-License-Identifier: Apache-2.0
#include "synth/max_flow.hpp"

#include <algorithm>

namespace coppice::synth {

int MaxFlow::addArc(int tail, int head, std::int64_t capacity) {
  m_out[tail].push_back(static_cast<int>(m_arcs.size()));
  m_arcs.push_back({head, capacity});
  m_out[head].push_back(static_cast<int>(m_arcs.size()));
  m_arcs.push_back({tail, 0});
  m_capacity.push_back(capacity);
  return static_cast<int>(m_capacity.size()) - 1;
}

bool MaxFlow::buildLevels(int source, int sink) {
  m_level.assign(m_out.size(), -1);
  m_level[source] = 0;
  std::vector<int> queue{source};
  for (std::size_t head = 0; head < queue.size() && m_level[sink] < 0; ++head) {
    for (const int half : m_out[queue[head]]) {
      if (m_arcs[half].room > 0 && m_level[m_arcs[half].head] < 0) {
        m_level[m_arcs[half].head] = m_level[queue[head]] + 1;
        queue.push_back(m_arcs[half].head);
      }
    }
  }
  return m_level[sink] >= 0;
}

std::int64_t MaxFlow::push(int node, int sink, std::int64_t limit) {
  if (node == sink) {
    return limit;
  }
  std::int64_t pushed = 0;
  for (std::size_t& i = m_next[node]; i < m_out[node].size(); ++i) {
    const int half = m_out[node][i];
    const int head = m_arcs[half].head;
    if (m_arcs[half].room <= 0 || m_level[head] != m_level[node] + 1) {
      continue;
    }
    const std::int64_t more = push(head, sink, std::min(limit - pushed, m_arcs[half].room));
    m_arcs[half].room -= more;
    m_arcs[half ^ 1].room += more;
    pushed += more;
    if (pushed == limit) {
      return pushed;
    }
  }
  return pushed;
}

std::int64_t MaxFlow::run(int source, int sink, std::int64_t enough) {
  std::int64_t total = 0;
  while (total < enough && buildLevels(source, sink)) {
    m_next.assign(m_out.size(), 0);
    const std::int64_t more = push(source, sink, enough - total);
    if (more == 0) {
      break;
    }
    total += more;
  }
  return total;
}

std::vector<bool> MaxFlow::sourceSide(int source) const {
  std::vector<bool> side(m_out.size(), false);
  side[source] = true;
  std::vector<int> queue{source};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (const int half : m_out[queue[head]]) {
      if (m_arcs[half].room > 0 && !side[m_arcs[half].head]) {
        side[m_arcs[half].head] = true;
        queue.push_back(m_arcs[half].head);
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
    for (const int half : m_out[queue[head]]) {
      if (m_arcs[half ^ 1].room > 0 && side[m_arcs[half].head]) {
        side[m_arcs[half].head] = false;
        queue.push_back(m_arcs[half].head);
      }
    }
  }
  return side;
}

}  // namespace coppice::synth
