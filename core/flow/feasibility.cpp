// SPDX-License-Identifier: Apache-2.0
#include "flow/feasibility.hpp"

#include <algorithm>
#include <utility>

namespace coppice::flow {

namespace {

/// An arc by the unordered pair of its ends.
struct PairKey {
  int low;
  int high;
  int arc;
};

/// Stable, by counting: `digit` is below n.
template <typename Digit>
std::vector<PairKey> sortedBy(const std::vector<PairKey>& keys, std::size_t n, Digit digit) {
  std::vector<std::int32_t> start = rowStarts(n, keys, digit);
  std::vector<PairKey> sorted(keys.size());
  for (const PairKey& key : keys) {
    sorted[start[digit(key)]++] = key;
  }
  return sorted;
}

/// By the smaller, then the larger end, so that u->v and v->u stand together. Arcs with equal ends are left out.
template <typename Cap>
std::vector<PairKey> sortedPairs(std::span<const CapacityArc<Cap>> arcs, std::size_t n) {
  std::vector<PairKey> keys;
  keys.reserve(arcs.size());
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    const auto [low, high] = std::minmax(arcs[i].tail, arcs[i].head);
    if (low != high) {
      keys.push_back({low, high, static_cast<int>(i)});
    }
  }
  keys = sortedBy(keys, n, [](const PairKey& key) { return key.high; });
  return sortedBy(keys, n, [](const PairKey& key) { return key.low; });
}

}  // namespace

template <typename Cap>
FeasibilityOracle<Cap>::FeasibilityOracle(int nodeCount, std::span<const CapacityArc<Cap>> arcs,
                                          std::vector<Cap> supplies, std::vector<int> sinks)
    : m_nodeCount(nodeCount), m_supply(std::move(supplies)), m_sinks(std::move(sinks)) {
  const auto n = static_cast<std::size_t>(nodeCount);
  m_left = m_supply;
  m_absorbed.assign(n, 0);
  m_flow.reserveNodes(nodeCount);
  for (const Cap supply : m_supply) {
    m_target += supply;
  }
  const std::vector<PairKey> keys = sortedPairs(arcs, n);
  m_handle.assign(arcs.size(), -1);
  m_capacity.reserve(2 * keys.size());
  std::vector<std::pair<int, int>> ends;
  ends.reserve(keys.size());
  for (const PairKey& key : keys) {
    if (ends.empty() || ends.back() != std::pair(key.low, key.high)) {
      ends.emplace_back(key.low, key.high);
      m_capacity.push_back(0);
      m_capacity.push_back(0);
    }
    const int residual = static_cast<int>(2 * (ends.size() - 1)) + (arcs[key.arc].tail == key.low ? 0 : 1);
    m_handle[key.arc] = residual;
    m_capacity[residual] += arcs[key.arc].capacity;
  }
  m_residual = m_capacity;
  indexPairs(ends);
  orderSinks();
}

template <typename Cap>
void FeasibilityOracle<Cap>::indexPairs(const std::vector<std::pair<int, int>>& ends) {
  m_arcsInto.assign(static_cast<std::size_t>(m_nodeCount), [&](const auto& add) {
    int arc = 0;
    for (const auto& [low, high] : ends) {
      add(high, arc++);
      add(low, arc++);
    }
  });
  m_from.clear();
  m_from.reserve(2 * ends.size());
  for (const int arc : m_arcsInto.entries()) {
    const auto& [low, high] = ends[static_cast<std::size_t>(arc) / 2];
    m_from.push_back(arc % 2 == 0 ? low : high);
  }
}

template <typename Cap>
void FeasibilityOracle<Cap>::orderSinks() {
  std::vector<char> isSink(m_nodeCount, 0);
  for (const int sink : m_sinks) {
    isSink[sink] = 1;
  }
  std::vector<char> seen(m_nodeCount, 0);
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
      for (const int next : fromInto(node)) {
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
Cap FeasibilityOracle<Cap>::flowInto(int sink, Cap wanted) {
  const auto t = static_cast<std::size_t>(sink);
  Cap flow = std::min(m_left[t], wanted);
  if (flow > 0) {
    m_touchedNodes.push_back(sink);
    m_left[t] -= flow;
  }
  return flow + m_flow.run(Network(*this), sink, wanted - flow);
}

template <typename Cap>
std::vector<int> FeasibilityOracle<Cap>::reaching(std::span<const int> seeds, bool& isClosed) {
  isClosed = true;
  m_flow.beginSearch();
  std::vector<int> nodes;
  for (const int seed : seeds) {
    if (!m_flow.isMarked(seed)) {
      m_flow.mark(seed);
      nodes.push_back(seed);
    }
  }
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    const auto node = static_cast<std::size_t>(nodes[at]);
    if (m_absorbed[node] != 0 || m_left[node] > 0) {
      isClosed = false;
      return {};
    }
    const auto from = fromInto(nodes[at]);
    const auto arcs = m_arcsInto[node];
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (!m_flow.isMarked(from[i]) && m_residual[arcs[i]] > 0) {
        m_flow.mark(from[i]);
        nodes.push_back(from[i]);
      }
    }
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

template <typename Cap>
std::vector<int> FeasibilityOracle<Cap>::reachableFrom(int seed) {
  m_flow.beginSearch();
  m_flow.mark(seed);
  std::vector<int> nodes(1, seed);
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    const auto from = fromInto(nodes[at]);
    const auto arcs = m_arcsInto[nodes[at]];
    for (std::size_t i = 0; i < from.size(); ++i) {
      // The pair's other residual arc leads from this node to its neighbour.
      if (!m_flow.isMarked(from[i]) && m_residual[arcs[i] ^ 1] > 0) {
        m_flow.mark(from[i]);
        nodes.push_back(from[i]);
      }
    }
  }
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
    const auto from = fromInto(v);
    const auto arcs = m_arcsInto[v];
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (inSet[from[i]] == 0) {
        sum += m_capacity[arcs[i]];
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
std::vector<Violation<Cap>> FeasibilityOracle<Cap>::violationsAt(std::span<const int> sinks, std::size_t max,
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
    if (found.size() >= max) {
      break;
    }
  }
  clearAbsorbed();
  return found;
}

template <typename Cap>
std::vector<Violation<Cap>> FeasibilityOracle<Cap>::violations(std::size_t max, const Progress& progress) {
  return violationsAt(m_sinks, max, progress);
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
