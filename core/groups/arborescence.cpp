// SPDX-License-Identifier: Apache-2.0
#include "groups/arborescence.hpp"

#include <cstddef>
#include <utility>

namespace coppice::groups {
namespace {

/// Of what a cycle was contracted to, by tail of the graph: the cheapest arc into it, less what is paid already, and
/// the node of the graph that the arc enters, -1 = none.
struct Entries {
  std::vector<Int128> costs;
  std::vector<int> heads;
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

  /// By tail, of the arcs into a node.
  [[nodiscard]] const Int128* costsInto(int node) const {
    return node < m_n ? m_costs.data() + static_cast<std::ptrdiff_t>(node) * m_n : m_entries[node].costs.data();
  }

  /// Follows cheapest arcs backwards until they come from what hangs at the root.
  void grow(int node) {
    std::vector<int> path;
    while (m_isDone[node] == 0) {
      path.push_back(node);
      m_onPath[node] = 1;
      const Int128* costs = costsInto(node);
      int best = -1;
      for (int tail = 0; tail < m_n; ++tail) {
        if (m_group[tail] != node && (best < 0 || costs[tail] < costs[best])) {
          best = tail;
        }
      }
      m_chosen[node] = best;
      m_head[node] = node < m_n ? node : m_entries[node].heads[best];
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
    Entries& own = m_entries[whole];
    for (int part = -1; part != first;) {
      part = path.back();
      path.pop_back();
      m_onPath[part] = 0;
      m_parent[part] = whole;
      take(own, part);
      if (part < m_n) {
        moveInto(whole, part);
      } else {
        for (const int member : m_members[part]) {
          moveInto(whole, member);
        }
        m_members[part] = {};
      }
    }
    return whole;
  }

  void moveInto(int whole, int member) {
    m_group[member] = whole;
    m_members[whole].push_back(member);
  }

  /// Adds the arcs into a part of a cycle, less what its chosen arc costs.
  void take(Entries& own, int part) {
    const Int128 chosen = costsInto(part)[m_chosen[part]];
    if (own.costs.empty()) {
      if (part < m_n) {
        own.costs.assign(costsInto(part), costsInto(part) + m_n);
        own.heads.assign(static_cast<std::size_t>(m_n), part);
        own.heads[part] = -1;
      } else {
        own = std::move(m_entries[part]);
      }
      for (Int128& cost : own.costs) {
        cost -= chosen;
      }
      m_entries[part] = {};
      return;
    }
    const Int128* costs = costsInto(part);
    for (int tail = 0; tail < m_n; ++tail) {
      const int head = part >= m_n ? m_entries[part].heads[tail] : tail == part ? -1 : part;
      if (head >= 0 && (own.heads[tail] < 0 || costs[tail] - chosen < own.costs[tail])) {
        own.costs[tail] = costs[tail] - chosen;
        own.heads[tail] = head;
      }
    }
    m_entries[part] = {};
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
  std::vector<Entries> m_entries;           ///< of nodes that cycles were contracted to
  std::vector<std::vector<int>> m_members;  ///< of the same: nodes of the graph
};

}  // namespace

std::vector<int> cheapestArborescence(int n, int root, const std::vector<Int128>& costs) {
  return Contraction(n, root, costs).run();
}

}  // namespace coppice::groups
