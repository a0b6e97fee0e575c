// SPDX-License-Identifier: Apache-2.0
#include "flow/feasibility.hpp"

#include <algorithm>
#include <utility>

namespace coppice::flow {

template <typename Cap>
FeasibilityOracle<Cap>::FeasibilityOracle(int nodeCount, std::span<const CapacityArc<Cap>> arcs,
                                          std::vector<Cap> supplies, std::vector<int> sinks)
    : m_nodeCount(nodeCount), m_supply(std::move(supplies)), m_sinks(std::move(sinks)) {
  const auto n = static_cast<std::size_t>(nodeCount);
  m_left = m_supply;
  m_absorbed.assign(n, 0);
  m_level.assign(n, 0);
  m_stamp.assign(n, 0);
  m_next.assign(n, 0);
  for (const Cap supply : m_supply) {
    m_target += supply;
  }

  // Sort the unordered pairs by counting on the smaller, then the larger node, so that u->v and v->u share a pair.
  struct Key {
    int low;
    int high;
    int arc;
  };
  std::vector<Key> keys;
  keys.reserve(arcs.size());
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    if (arcs[i].tail != arcs[i].head) {
      keys.push_back({std::min(arcs[i].tail, arcs[i].head), std::max(arcs[i].tail, arcs[i].head), static_cast<int>(i)});
    }
  }
  std::vector<Key> byHigh(keys.size());
  std::vector<int> count(n + 1, 0);
  for (const Key& key : keys) {
    ++count[static_cast<std::size_t>(key.high) + 1];
  }
  for (std::size_t v = 0; v < n; ++v) {
    count[v + 1] += count[v];
  }
  for (const Key& key : keys) {
    byHigh[count[key.high]++] = key;
  }
  count.assign(n + 1, 0);
  for (const Key& key : byHigh) {
    ++count[static_cast<std::size_t>(key.low) + 1];
  }
  for (std::size_t v = 0; v < n; ++v) {
    count[v + 1] += count[v];
  }
  for (const Key& key : byHigh) {
    keys[count[key.low]++] = key;
  }

  m_handle.assign(arcs.size(), -1);
  m_capacity.reserve(2 * keys.size());
  std::vector<std::pair<int, int>> ends;
  ends.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i == 0 || keys[i].low != keys[i - 1].low || keys[i].high != keys[i - 1].high) {
      ends.emplace_back(keys[i].low, keys[i].high);
      m_capacity.push_back(0);
      m_capacity.push_back(0);
    }
    const auto arc = static_cast<std::size_t>(keys[i].arc);
    const int residual = static_cast<int>(2 * (ends.size() - 1)) + (arcs[arc].tail == keys[i].low ? 0 : 1);
    m_handle[arc] = residual;
    m_capacity[residual] += arcs[arc].capacity;
  }
  m_residual = m_capacity;

  m_start.assign(n + 1, 0);
  for (const auto& [low, high] : ends) {
    ++m_start[static_cast<std::size_t>(low) + 1];
    ++m_start[static_cast<std::size_t>(high) + 1];
  }
  for (std::size_t v = 0; v < n; ++v) {
    m_start[v + 1] += m_start[v];
  }
  m_from.resize(2 * ends.size());
  m_arc.resize(2 * ends.size());
  std::vector<int> fill(m_start.begin(), m_start.end() - 1);
  for (std::size_t p = 0; p < ends.size(); ++p) {
    const auto [low, high] = ends[p];
    const auto intoHigh = static_cast<std::size_t>(fill[high]++);
    m_from[intoHigh] = low;
    m_arc[intoHigh] = static_cast<int>(2 * p);
    const auto intoLow = static_cast<std::size_t>(fill[low]++);
    m_from[intoLow] = high;
    m_arc[intoLow] = static_cast<int>(2 * p + 1);
  }
  orderSinks();
}

template <typename Cap>
void FeasibilityOracle<Cap>::orderSinks() {
  std::vector<char> isSink(static_cast<std::size_t>(m_nodeCount), 0);
  for (const int sink : m_sinks) {
    isSink[sink] = 1;
  }
  std::vector<char> seen(static_cast<std::size_t>(m_nodeCount), 0);
  std::vector<int> order;
  order.reserve(m_sinks.size());
  std::vector<int> queue;
  for (const int start : m_sinks) {
    if (seen[start] != 0) {
      continue;
    }
    seen[start] = 1;
    queue.assign(1, start);
    for (std::size_t at = 0; at < queue.size(); ++at) {
      const int node = queue[at];
      if (isSink[node] != 0) {
        order.push_back(node);
      }
      for (int i = m_start[node]; i < m_start[static_cast<std::size_t>(node) + 1]; ++i) {
        const int next = m_from[i];
        if (seen[next] == 0) {
          seen[next] = 1;
          queue.push_back(next);
        }
      }
    }
  }
  m_sinks = std::move(order);
}

template <typename Cap>
void FeasibilityOracle<Cap>::setCapacity(int arc, Cap value) {
  const std::size_t residual = index(m_handle, arc);
  m_capacity[residual] = value;
  m_residual[residual] = value;
}

template <typename Cap>
void FeasibilityOracle<Cap>::setSupply(int node, Cap value) {
  m_target += value - m_supply[node];
  m_supply[node] = value;
  m_left[node] = value;
}

template <typename Cap>
void FeasibilityOracle<Cap>::clearAbsorbed() {
  std::fill(m_absorbed.begin(), m_absorbed.end(), char{0});
}

template <typename Cap>
void FeasibilityOracle<Cap>::undo() {
  for (const int pair : m_touchedPairs) {
    const std::size_t first = 2 * static_cast<std::size_t>(pair);
    m_residual[first] = m_capacity[first];
    m_residual[first + 1] = m_capacity[first + 1];
  }
  m_touchedPairs.clear();
  for (const int node : m_touchedNodes) {
    m_left[node] = m_supply[node];
  }
  m_touchedNodes.clear();
}

template <typename Cap>
bool FeasibilityOracle<Cap>::growLevels(int sink, Cap need) {
  ++m_now;
  m_queue.assign(1, sink);
  m_stamp[sink] = m_now;
  m_level[sink] = 0;
  m_next[sink] = m_start[sink];
  bool found = false;
  Cap seen = 0;
  int stopLevel = -1;
  for (std::size_t at = 0; at < m_queue.size(); ++at) {
    const auto node = static_cast<std::size_t>(m_queue[at]);
    if (stopLevel >= 0 && m_level[node] >= stopLevel) {
      break;
    }
    m_work += static_cast<std::uint64_t>(m_start[node + 1] - m_start[node]);
    for (int i = m_start[node]; i < m_start[node + 1]; ++i) {
      const auto from = static_cast<std::size_t>(m_from[i]);
      if (m_stamp[from] == m_now || m_residual[index(m_arc, i)] <= 0) {
        continue;
      }
      m_stamp[from] = m_now;
      m_level[from] = m_level[node] + 1;
      m_next[from] = m_start[from];
      m_queue.push_back(static_cast<int>(from));
      if (m_absorbed[from] != 0) {
        found = true;
        stopLevel = m_level[from];
      } else if (m_left[from] > 0) {
        found = true;
        seen += m_left[from];
        if (seen >= need && stopLevel < 0) {
          stopLevel = m_level[from];
        }
      }
    }
  }
  return found;
}

template <typename Cap>
Cap FeasibilityOracle<Cap>::blockingFlow(int sink, Cap need) {
  Cap pushed = 0;
  m_pathNode.assign(1, sink);
  m_pathArc.clear();
  while (true) {
    const int node = m_pathNode.back();
    const auto v = static_cast<std::size_t>(node);
    if (!m_pathArc.empty() && (m_absorbed[v] != 0 || m_left[v] > 0)) {
      Cap amount = need - pushed;
      if (m_absorbed[v] == 0) {
        amount = std::min(amount, m_left[v]);
      }
      for (const int arc : m_pathArc) {
        amount = std::min(amount, m_residual[arc]);
      }
      std::size_t firstFull = m_pathArc.size();
      for (std::size_t i = m_pathArc.size(); i-- > 0;) {
        const auto arc = static_cast<std::size_t>(m_pathArc[i]);
        if (m_residual[arc] == m_capacity[arc]) {
          m_touchedPairs.push_back(static_cast<int>(arc / 2));
        }
        m_residual[arc] -= amount;
        m_residual[arc ^ 1U] += amount;
        if (m_residual[arc] == 0) {
          firstFull = i;
        }
      }
      if (m_absorbed[v] == 0) {
        m_touchedNodes.push_back(node);
        m_left[v] -= amount;
      }
      pushed += amount;
      if (pushed == need) {
        return pushed;
      }
      if (firstFull < m_pathArc.size()) {
        m_pathArc.resize(firstFull);
        m_pathNode.resize(firstFull + 1);
      }
      continue;
    }
    bool advanced = false;
    for (int& i = m_next[v]; i < m_start[v + 1]; ++i) {
      const auto from = static_cast<std::size_t>(m_from[i]);
      if (m_stamp[from] == m_now && m_level[from] == m_level[v] + 1 && m_residual[index(m_arc, i)] > 0) {
        m_pathArc.push_back(m_arc[i]);
        m_pathNode.push_back(static_cast<int>(from));
        advanced = true;
        break;
      }
    }
    if (!advanced) {
      if (m_pathArc.empty()) {
        return pushed;
      }
      m_level[v] = -1;
      m_pathArc.pop_back();
      m_pathNode.pop_back();
      ++m_next[m_pathNode.back()];
    }
  }
}

template <typename Cap>
Cap FeasibilityOracle<Cap>::flowInto(int sink, Cap wanted) {
  const auto t = static_cast<std::size_t>(sink);
  Cap flow = std::min(m_left[t], wanted);
  if (flow > 0) {
    m_touchedNodes.push_back(sink);
    m_left[t] -= flow;
  }
  while (flow < wanted && growLevels(sink, wanted - flow)) {
    flow += blockingFlow(sink, wanted - flow);
  }
  return flow;
}

template <typename Cap>
std::vector<int> FeasibilityOracle<Cap>::reaching(std::span<const int> seeds, bool& isClosed) {
  isClosed = true;
  ++m_now;
  m_queue.clear();
  for (const int seed : seeds) {
    if (m_stamp[seed] != m_now) {
      m_stamp[seed] = m_now;
      m_queue.push_back(seed);
    }
  }
  for (std::size_t at = 0; at < m_queue.size(); ++at) {
    const auto node = static_cast<std::size_t>(m_queue[at]);
    if (m_absorbed[node] != 0 || m_left[node] > 0) {
      isClosed = false;
      return {};
    }
    for (int i = m_start[node]; i < m_start[node + 1]; ++i) {
      const auto from = static_cast<std::size_t>(m_from[i]);
      if (m_stamp[from] != m_now && m_residual[index(m_arc, i)] > 0) {
        m_stamp[from] = m_now;
        m_queue.push_back(static_cast<int>(from));
      }
    }
  }
  std::vector<int> nodes = m_queue;
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

template <typename Cap>
std::vector<int> FeasibilityOracle<Cap>::reachableFrom(int seed) {
  ++m_now;
  m_queue.assign(1, seed);
  m_stamp[seed] = m_now;
  for (std::size_t at = 0; at < m_queue.size(); ++at) {
    const auto node = static_cast<std::size_t>(m_queue[at]);
    for (int i = m_start[node]; i < m_start[node + 1]; ++i) {
      const auto to = static_cast<std::size_t>(m_from[i]);
      // The pair's other residual arc leads from this node to its neighbour.
      const auto forward = static_cast<std::size_t>(m_arc[i] ^ 1);
      if (m_stamp[to] != m_now && m_residual[forward] > 0) {
        m_stamp[to] = m_now;
        m_queue.push_back(static_cast<int>(to));
      }
    }
  }
  std::vector<int> nodes = m_queue;
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

template <typename Cap>
Cap FeasibilityOracle<Cap>::entering(const std::vector<char>& inSet) const {
  Cap sum = 0;
  for (int v = 0; v < m_nodeCount; ++v) {
    if (inSet[v] == 0) {
      continue;
    }
    for (int i = m_start[v]; i < m_start[static_cast<std::size_t>(v) + 1]; ++i) {
      if (inSet[m_from[i]] == 0) {
        sum += m_capacity[index(m_arc, i)];
      }
    }
  }
  return sum;
}

template <typename Cap>
bool FeasibilityOracle<Cap>::isFeasible(const Progress& progress) {
  clearAbsorbed();
  for (const int sink : m_sinks) {
    throwIfCancelled(progress);
    const Cap flow = flowInto(sink, m_target);
    undo();
    progress.spend(takeWork());
    if (flow < m_target) {
      clearAbsorbed();
      return false;
    }
    absorb(sink);
  }
  clearAbsorbed();
  return true;
}

template <typename Cap>
std::vector<Violation<Cap>> FeasibilityOracle<Cap>::violationsAt(std::span<const int> sinks, std::size_t most,
                                                                 const Progress& progress) {
  std::vector<Violation<Cap>> found;
  clearAbsorbed();
  for (const int sink : sinks) {
    throwIfCancelled(progress);
    const Cap flow = flowInto(sink, m_target);
    if (flow < m_target) {
      bool isClosed = false;
      const int seeds[] = {sink};
      found.push_back({reaching(seeds, isClosed), m_target - flow});
    }
    undo();
    absorb(sink);
    progress.spend(takeWork());
    if (found.size() >= most) {
      break;
    }
  }
  clearAbsorbed();
  return found;
}

template <typename Cap>
std::vector<Violation<Cap>> FeasibilityOracle<Cap>::violations(std::size_t most, const Progress& progress) {
  return violationsAt(m_sinks, most, progress);
}

template <typename Cap>
Cap FeasibilityOracle<Cap>::largestDeficit() {
  Cap worst = 0;
  clearAbsorbed();
  for (const int sink : m_sinks) {
    worst = std::max(worst, m_target - flowInto(sink, m_target));
    undo();
    absorb(sink);
  }
  clearAbsorbed();
  return worst;
}

template class FeasibilityOracle<std::int64_t>;
template class FeasibilityOracle<Int128>;

}  // namespace coppice::flow
