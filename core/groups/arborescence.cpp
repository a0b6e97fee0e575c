// SPDX-License-Identifier: Apache-2.0
#include "groups/arborescence.hpp"

#include <cstddef>

namespace coppice::groups {
namespace {

/// An arc into a node that may be contracted: from a tail of the graph to a head of the graph.
struct Entry {
  Int128 cost = 0;
  int head = -1;  ///< -1 = none
};

/// Nodes of the graph first, then what cycles were contracted to.
class Contraction {
public:
  Contraction(int n, int root, const std::vector<Int128>& costs)
      : m_n(n), m_costs(costs), m_group(static_cast<std::size_t>(n)) {
    for (int node = 0; node < n; ++node) {
      m_group[node] = addNode();
    }
    m_isDone[root] = 1;
  }

  std::vector<int> run() {
    for (int node = 0; node < m_n; ++node) {
      grow(m_group[node]);
    }
    return expanded();
  }

private:
  int addNode() {
    m_parent.push_back(-1);
    m_chosen.push_back(-1);
    m_head.push_back(-1);
    m_isDone.push_back(0);
    m_onPath.push_back(0);
    m_entries.emplace_back();
    m_members.emplace_back();
    return static_cast<int>(m_parent.size()) - 1;
  }

  void fill(int node) {
    if (m_entries[node].empty()) {
      m_entries[node].resize(static_cast<std::size_t>(m_n));
      for (int tail = 0; tail < m_n; ++tail) {
        if (tail != node) {
          m_entries[node][tail] = {m_costs[static_cast<std::size_t>(tail) * m_n + node], node};
        }
      }
      m_members[node] = {node};
    }
  }

  /// Follows cheapest arcs backwards until they come from what hangs at the root.
  void grow(int node) {
    std::vector<int> path;
    while (m_isDone[node] == 0) {
      path.push_back(node);
      m_onPath[node] = 1;
      fill(node);
      int best = -1;
      for (int tail = 0; tail < m_n; ++tail) {
        if (m_group[tail] != node && (best < 0 || m_entries[node][tail].cost < m_entries[node][best].cost)) {
          best = tail;
        }
      }
      m_chosen[node] = best;
      m_head[node] = m_entries[node][best].head;
      const int next = m_group[best];
      node = next;
      if (m_onPath[next] != 0) {
        node = contract(path, next);
      }
    }
    for (const int each : path) {
      m_isDone[each] = 1;
      m_onPath[each] = 0;
    }
  }

  /// The cycle is the end of the path from `first` on.
  int contract(std::vector<int>& path, int first) {
    const int whole = addNode();
    m_entries[whole].resize(static_cast<std::size_t>(m_n));
    for (int part = -1; part != first;) {
      part = path.back();
      path.pop_back();
      m_onPath[part] = 0;
      m_parent[part] = whole;
      const Int128 chosen = m_entries[part][m_chosen[part]].cost;
      for (int tail = 0; tail < m_n; ++tail) {
        const Entry& entry = m_entries[part][tail];
        Entry& own = m_entries[whole][tail];
        if (entry.head >= 0 && (own.head < 0 || entry.cost - chosen < own.cost)) {
          own = {entry.cost - chosen, entry.head};
        }
      }
      for (const int member : m_members[part]) {
        m_group[member] = whole;
        m_members[whole].push_back(member);
      }
      m_entries[part] = {};
      m_members[part] = {};
    }
    return whole;
  }

  /// Where an arc enters what a cycle was contracted to, it replaces the arc of the part that it enters.
  std::vector<int> expanded() {
    for (int node = static_cast<int>(m_parent.size()) - 1; node >= m_n; --node) {
      if (m_chosen[node] < 0) {
        continue;
      }
      int part = m_head[node];
      while (m_parent[part] != node) {
        part = m_parent[part];
      }
      m_chosen[part] = m_chosen[node];
      m_head[part] = m_head[node];
    }
    return {m_chosen.begin(), m_chosen.begin() + m_n};
  }

  int m_n;
  const std::vector<Int128>& m_costs;
  std::vector<int> m_group;   ///< by node of the graph: what it is contracted to
  std::vector<int> m_parent;  ///< what a node was contracted into
  std::vector<int> m_chosen;  ///< tail of the arc into it
  std::vector<int> m_head;
  std::vector<char> m_isDone;  ///< hangs at the root
  std::vector<char> m_onPath;
  std::vector<std::vector<Entry>> m_entries;  ///< by tail: the cheapest arc into it, less what is paid already
  std::vector<std::vector<int>> m_members;
};

}  // namespace

std::vector<int> cheapestArborescence(int n, int root, const std::vector<Int128>& costs) {
  return Contraction(n, root, costs).run();
}

}  // namespace coppice::groups
