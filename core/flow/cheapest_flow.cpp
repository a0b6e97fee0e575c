// SPDX-License-Identifier: Apache-2.0
#include "flow/cheapest_flow.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "base/rows.hpp"

namespace coppice::flow {
namespace {

using std::int64_t;

constexpr int64_t kFar = std::numeric_limits<int64_t>::max();

class Search {
public:
  /// Residual arc 2i is arc i, 2i + 1 goes back.
  Search(int nodeCount, std::span<const PricedArc> arcs, int source, int sink)
      : m_source(source),
        m_sink(sink),
        m_potential(static_cast<std::size_t>(nodeCount), 0),
        m_level(static_cast<std::size_t>(nodeCount), -1),
        m_next(static_cast<std::size_t>(nodeCount), 0) {
    for (const PricedArc& arc : arcs) {
      m_head.push_back(arc.head);
      m_head.push_back(arc.tail);
      m_left.push_back(arc.capacity);
      m_left.push_back(0);
      m_cost.push_back(arc.cost);
      m_cost.push_back(-arc.cost);
    }
    m_out.assign(static_cast<std::size_t>(nodeCount), [this](const auto& add) {
      for (int arc = 0; arc < static_cast<int>(m_head.size()); ++arc) {
        add(m_head[arc ^ 1], arc);
      }
    });
  }

  CheapestFlow run(int64_t wanted, const Progress& progress) {
    CheapestFlow result;
    while (result.value < wanted && shortenPotentials()) {
      while (result.value < wanted && growLevels()) {
        throwIfCancelled(progress);
        result.value += blockingFlow(wanted - result.value);
      }
    }
    result.flow.reserve(m_head.size() / 2);
    for (std::size_t i = 1; i < m_left.size(); i += 2) {
      result.flow.push_back(m_left[i]);
    }
    return result;
  }

private:
  [[nodiscard]] int64_t reduced(int arc) const {
    return m_cost[arc] + m_potential[m_head[arc ^ 1]] - m_potential[m_head[arc]];
  }

  /// Dijkstra's distances at reduced costs, which no residual arc makes negative, are added to the potentials. Nodes
  /// that are not reached, or only behind the sink, get the sink's. False where the sink is not reached.
  bool shortenPotentials() {
    std::vector<int64_t> distance(m_potential.size(), kFar);
    using Entry = std::pair<int64_t, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    distance[m_source] = 0;
    queue.emplace(0, m_source);
    while (!queue.empty()) {
      const auto [length, node] = queue.top();
      queue.pop();
      if (length > distance[node]) {
        continue;
      }
      if (node == m_sink) {
        break;
      }
      for (const int arc : m_out[node]) {
        const int next = m_head[arc];
        if (m_left[arc] > 0 && length + reduced(arc) < distance[next]) {
          distance[next] = length + reduced(arc);
          queue.emplace(distance[next], next);
        }
      }
    }
    if (distance[m_sink] == kFar) {
      return false;
    }
    for (std::size_t v = 0; v < m_potential.size(); ++v) {
      m_potential[v] += std::min(distance[v], distance[m_sink]);
    }
    return true;
  }

  /// Breadth first over residual arcs of reduced cost 0.
  bool growLevels() {
    std::fill(m_level.begin(), m_level.end(), -1);
    m_level[m_source] = 0;
    std::vector<int> queue{m_source};
    for (std::size_t at = 0; at < queue.size() && m_level[m_sink] < 0; ++at) {
      const int node = queue[at];
      for (const int arc : m_out[node]) {
        if (m_left[arc] > 0 && m_level[m_head[arc]] < 0 && reduced(arc) == 0) {
          m_level[m_head[arc]] = m_level[node] + 1;
          queue.push_back(m_head[arc]);
        }
      }
    }
    std::fill(m_next.begin(), m_next.end(), 0);
    return m_level[m_sink] >= 0;
  }

  int64_t blockingFlow(int64_t wanted) {
    int64_t pushed = 0;
    std::vector<int> path;  // residual arcs
    int node = m_source;
    while (pushed < wanted) {
      if (node == m_sink) {
        pushed += push(path, wanted - pushed);
        node = path.empty() ? m_source : m_head[path.back()];
        continue;
      }
      const int arc = advance(node);
      if (arc >= 0) {
        path.push_back(arc);
        node = m_head[arc];
        continue;
      }
      if (path.empty()) {
        break;
      }
      m_level[node] = -1;
      node = m_head[path.back() ^ 1];
      path.pop_back();
    }
    return pushed;
  }

  /// The next arc of the node that leads one level on; -1 where there is none left.
  int advance(int node) {
    const auto out = m_out[node];
    for (std::size_t& i = m_next[node]; i < out.size(); ++i) {
      const int arc = out[i];
      if (m_left[arc] > 0 && m_level[m_head[arc]] == m_level[node] + 1 && reduced(arc) == 0) {
        return arc;
      }
    }
    return -1;
  }

  /// Sends what the path holds and cuts it back to before its first full arc.
  int64_t push(std::vector<int>& path, int64_t wanted) {
    int64_t amount = wanted;
    for (const int arc : path) {
      amount = std::min(amount, m_left[arc]);
    }
    std::size_t kept = path.size();
    for (std::size_t i = path.size(); i-- > 0;) {
      m_left[path[i]] -= amount;
      m_left[path[i] ^ 1] += amount;
      kept = m_left[path[i]] == 0 ? i : kept;
    }
    path.resize(kept == path.size() ? 0 : kept);
    return amount;
  }

  int m_source;
  int m_sink;
  std::vector<int> m_head;
  std::vector<int64_t> m_left;
  std::vector<int64_t> m_cost;
  Rows<int> m_out;  ///< residual arcs by tail
  std::vector<int64_t> m_potential;
  std::vector<int> m_level;
  std::vector<std::size_t> m_next;  ///< by node, into its row of m_out
};

}  // namespace

CheapestFlow cheapestFlow(int nodeCount, std::span<const PricedArc> arcs, int source, int sink, int64_t wanted,
                          const Progress& progress) {
  return Search(nodeCount, arcs, source, sink).run(wanted, progress);
}

}  // namespace coppice::flow
