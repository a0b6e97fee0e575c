// SPDX-License-Identifier: Apache-2.0
#include "lp/cut_finder.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/checked.hpp"

namespace coppice::lp {

namespace {

constexpr std::int64_t kUnlimited = std::int64_t{1} << 61;

}  // namespace

CutFinder::CutFinder(int nodeCount, const std::vector<bool>& isGpu, std::vector<ArcEnds> arcs)
    : m_nodeCount(nodeCount), m_source(nodeCount), m_arcs(std::move(arcs)) {
  for (int node = 0; node < nodeCount; ++node) {
    if (isGpu[node]) {
      m_gpus.push_back(node);
    }
  }
  const std::size_t pairs = m_arcs.size() + m_gpus.size();
  m_target.resize(2 * pairs);
  m_residual.resize(2 * pairs);
  m_begin.assign(static_cast<std::size_t>(nodeCount) + 2, 0);
  const auto ends = [this](std::size_t pair) {
    return pair < m_arcs.size() ? m_arcs[pair] : ArcEnds{m_source, m_gpus[pair - m_arcs.size()]};
  };
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const auto [tail, head] = ends(pair);
    m_target[2 * pair] = head;
    m_target[2 * pair + 1] = tail;
    ++m_begin[static_cast<std::size_t>(tail) + 1];
    ++m_begin[static_cast<std::size_t>(head) + 1];
  }
  for (std::size_t i = 1; i < m_begin.size(); ++i) {
    m_begin[i] += m_begin[i - 1];
  }
  m_leaving.resize(2 * pairs);
  std::vector<int> fill(m_begin.begin(), m_begin.end() - 1);
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const auto [tail, head] = ends(pair);
    m_leaving[fill[tail]++] = static_cast<int>(2 * pair);
    m_leaving[fill[head]++] = static_cast<int>(2 * pair + 1);
  }
  m_level.resize(static_cast<std::size_t>(nodeCount) + 1);
  m_next.resize(static_cast<std::size_t>(nodeCount) + 1);
}

bool CutFinder::buildLevels(int sink) {
  std::fill(m_level.begin(), m_level.end(), -1);
  m_queue.assign(1, m_source);
  m_level[m_source] = 0;
  for (std::size_t i = 0; i < m_queue.size(); ++i) {
    const int node = m_queue[i];
    for (int slot = m_begin[node]; slot < m_begin[static_cast<std::size_t>(node) + 1]; ++slot) {
      const int arc = m_leaving[slot];
      const int head = m_target[arc];
      if (m_residual[arc] > 0 && m_level[head] < 0) {
        m_level[head] = m_level[node] + 1;
        if (head == sink) {
          return true;
        }
        m_queue.push_back(head);
      }
    }
  }
  return false;
}

// One augmenting path in the level graph, found with an explicit stack: paths may be as long as the fabric.
std::int64_t CutFinder::pushPath(int sink, std::int64_t limit) {
  m_path.clear();
  int node = m_source;
  while (node != sink) {
    int& slot = m_next[node];
    int chosen = -1;
    for (; slot < m_begin[static_cast<std::size_t>(node) + 1]; ++slot) {
      const int arc = m_leaving[slot];
      if (m_residual[arc] > 0 && m_level[m_target[arc]] == m_level[node] + 1) {
        chosen = arc;
        break;
      }
    }
    if (chosen >= 0) {
      m_path.push_back(chosen);
      node = m_target[chosen];
      continue;
    }
    if (m_path.empty()) {
      return 0;
    }
    node = m_target[m_path.back() ^ 1];
    m_path.pop_back();
    ++m_next[node];
  }
  std::int64_t amount = limit;
  for (const int arc : m_path) {
    amount = std::min(amount, m_residual[arc]);
  }
  for (const int arc : m_path) {
    m_residual[arc] -= amount;
    m_residual[arc ^ 1] += amount;
  }
  return amount;
}

std::int64_t CutFinder::flowTo(int sink, std::int64_t target) {
  std::int64_t flow = 0;
  while (flow < target && buildLevels(sink)) {
    std::copy(m_begin.begin(), m_begin.end() - 1, m_next.begin());
    while (flow < target) {
      const std::int64_t pushed = pushPath(sink, target - flow);
      if (pushed == 0) {
        break;
      }
      flow += pushed;
    }
  }
  return flow;
}

NodeSet CutFinder::reachingSink(int sink) const {
  NodeSet set(static_cast<std::size_t>(m_nodeCount), false);
  std::vector<int> queue{sink};
  set[sink] = true;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const int node = queue[i];
    for (int slot = m_begin[node]; slot < m_begin[static_cast<std::size_t>(node) + 1]; ++slot) {
      const int backward = m_leaving[slot] ^ 1;
      const int from = m_target[m_leaving[slot]];
      if (from != m_source && m_residual[backward] > 0 && !set[from]) {
        set[from] = true;
        queue.push_back(from);
      }
    }
  }
  return set;
}

// After a failed buildLevels the levels mark exactly what the source still reaches.
NodeSet CutFinder::notReachedFromSource() const {
  NodeSet set(static_cast<std::size_t>(m_nodeCount), false);
  for (int node = 0; node < m_nodeCount; ++node) {
    set[node] = m_level[node] < 0;
  }
  return set;
}

std::vector<NodeSet> CutFinder::violated(std::span<const std::int64_t> capacities,
                                         std::span<const std::int64_t> supplies, std::int64_t tolerance, bool firstOnly,
                                         const Progress& progress) {
  std::int64_t total = 0;
  for (const std::int64_t supply : supplies) {
    total = checkedAdd(total, supply);
  }
  std::int64_t all = total;
  for (const std::int64_t capacity : capacities) {
    all = checkedAdd(all, capacity);
  }
  if (all >= kUnlimited) {
    throw OverflowError("the sum of the capacities leaves the exact range of the maximum flow");
  }
  std::vector<NodeSet> found;
  std::set<NodeSet> seen;
  std::vector<bool> passed(m_gpus.size(), false);
  for (const int sink : m_gpus) {
    throwIfCancelled(progress);
    for (std::size_t i = 0; i < m_arcs.size(); ++i) {
      m_residual[2 * i] = capacities[i];
      m_residual[2 * i + 1] = 0;
    }
    for (std::size_t i = 0; i < m_gpus.size(); ++i) {
      m_residual[2 * (m_arcs.size() + i)] = passed[i] ? kUnlimited : supplies[m_gpus[i]];
      m_residual[2 * (m_arcs.size() + i) + 1] = 0;
    }
    if (flowTo(sink, total) >= total - tolerance) {
      if (firstOnly) {
        const auto position = std::lower_bound(m_gpus.begin(), m_gpus.end(), sink) - m_gpus.begin();
        passed[position] = true;
      }
      continue;
    }
    NodeSet smallest = reachingSink(sink);
    if (firstOnly) {
      found.push_back(std::move(smallest));
      return found;
    }
    NodeSet largest = notReachedFromSource();
    for (NodeSet* set : {&smallest, &largest}) {
      if (seen.insert(*set).second) {
        found.push_back(std::move(*set));
      }
    }
  }
  return found;
}

std::int64_t entering(const std::vector<ArcEnds>& arcs, std::span<const std::int64_t> values, const NodeSet& set) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    if (set[arcs[i].head] && !set[arcs[i].tail]) {
      sum = checkedAdd(sum, values[i]);
    }
  }
  return sum;
}

}  // namespace coppice::lp
