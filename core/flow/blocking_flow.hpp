// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace coppice::flow {

/// Maximum flow into one sink by blocking flows on backward breadth-first levels (Dinic, Soviet Math. Doklady 11,
/// 1970). The one implementation behind FeasibilityOracle and MaxFlow; the verifier's maximum flow (flow/lemon) shares
/// nothing with it. At most n phases of O(n m) steps each; in the networks here a few phases, which stay near the sink.
///
/// The network holds the residual capacities. It has, where arc ^ 1 is the reverse of an arc:
///   into(node)              the arcs into the node: size(), node(i), arc(i)
///   isOpen(arc)             whether it has room left
///   room(arc)               what it still takes
///   push(arc, amount)       room(arc) -= amount, room(arc ^ 1) += amount
///   isUnlimited(node)       feeds any amount
///   left(node)              what else it can feed; 0 for most nodes
///   take(node, amount)      left(node) -= amount
template <typename Cap>
class BlockingFlow {
public:
  /// Makes room for the nodes below count.
  void reserveNodes(int count) {
    if (m_stamp.size() < static_cast<std::size_t>(count)) {
      m_stamp.resize(count, 0);
      m_level.resize(count);
      m_next.resize(count);
    }
  }

  /// The flow, at most `wanted`; it stays in the network. What the sink itself has left does not count.
  template <typename Network>
  Cap run(Network network, int sink, Cap wanted) {
    Cap flow = 0;
    for (const int maxArcs : {kFirstArcs, std::numeric_limits<int>::max()}) {
      m_maxArcs = maxArcs;
      while (flow < wanted && growLevels(network, sink, wanted - flow)) {
        flow += pushAlongLevels(network, sink, wanted - flow);
      }
      if (flow >= wanted || !m_isCut) {
        break;
      }
    }
    return flow;
  }

  // Marks of a search, for the owner's own searches as well.

  void beginSearch() {
    if (++m_now == std::numeric_limits<std::uint32_t>::max()) {
      std::fill(m_stamp.begin(), m_stamp.end(), 0U);
      m_now = 1;
    }
  }
  [[nodiscard]] bool isMarked(int node) const { return m_stamp[node] == m_now; }
  void mark(int node) { m_stamp[node] = m_now; }
  /// Arcs looked at by levels since this was last asked.
  [[nodiscard]] std::uint64_t takeWork() { return std::exchange(m_work, 0); }
  void addWork(std::uint64_t arcs) { m_work += arcs; }

private:
  /// Nodes that feed are mostly among the first of a list, since owners list neighbours in the order of the sinks. So
  /// flow is first looked for along these: a switch with thousands of links is gone through only where that is not
  /// enough.
  static constexpr int kFirstArcs = 32;

  /// How many arcs of a list are looked at.
  template <typename List>
  [[nodiscard]] int length(const List& list) const {
    return std::min(list.size(), m_maxArcs);
  }

  void reach(int node, int level) {
    mark(node);
    m_level[node] = level;
    m_next[node] = 0;
    m_queue.push_back(node);
  }

  /// Levels by distance to the sink, up to that where unlimited nodes, or enough supply, have been found. False: no
  /// node that feeds reaches the sink.
  template <typename Network>
  bool growLevels(Network& network, int sink, Cap need) {
    beginSearch();
    m_queue.clear();
    reach(sink, 0);
    bool found = false;
    Cap seen = 0;
    int stopLevel = -1;
    m_isCut = false;
    for (std::size_t at = 0; at < m_queue.size(); ++at) {
      const int node = m_queue[at];
      if (stopLevel >= 0 && m_level[node] >= stopLevel) {
        break;
      }
      const auto list = network.into(node);
      const int count = length(list);
      m_isCut = m_isCut || count < list.size();
      m_work += static_cast<std::uint64_t>(count);
      const int next = m_level[node] + 1;
      for (int i = 0; i < count; ++i) {
        const int from = list.node(i);
        if (isMarked(from) || !network.isOpen(list.arc(i))) {
          continue;
        }
        reach(from, next);
        if (network.isUnlimited(from)) {
          found = true;
          stopLevel = next;
        } else if (const Cap left = network.left(from); left > 0) {
          found = true;
          seen += left;
          if (seen >= need && stopLevel < 0) {
            stopLevel = next;
          }
        }
      }
    }
    return found;
  }

  /// Paths from the sink down the levels, against the arcs, until `need` is met or every path is blocked.
  template <typename Network>
  Cap pushAlongLevels(Network& network, int sink, Cap need) {
    Cap pushed = 0;
    m_pathNode.assign(1, sink);
    m_pathArc.clear();
    while (true) {
      const int node = m_pathNode.back();
      if (!m_pathArc.empty() && (network.isUnlimited(node) || network.left(node) > 0)) {
        pushed += augment(network, node, need - pushed);
        if (pushed == need) {
          return pushed;
        }
      } else if (!advance(network, node)) {
        if (m_pathArc.empty()) {
          return pushed;
        }
        m_level[node] = -1;
        m_pathArc.pop_back();
        m_pathNode.pop_back();
        ++m_next[m_pathNode.back()];
      }
    }
  }

  /// Pushes what the path takes and cuts it back to the first arc that is full, seen from the sink.
  template <typename Network>
  Cap augment(Network& network, int node, Cap amount) {
    const bool isUnlimited = network.isUnlimited(node);
    if (!isUnlimited) {
      amount = std::min(amount, network.left(node));
    }
    for (const int arc : m_pathArc) {
      amount = std::min(amount, network.room(arc));
    }
    std::size_t firstFull = m_pathArc.size();
    for (std::size_t i = m_pathArc.size(); i-- > 0;) {
      network.push(m_pathArc[i], amount);
      if (network.room(m_pathArc[i]) == 0) {
        firstFull = i;
      }
    }
    if (!isUnlimited) {
      network.take(node, amount);
    }
    if (firstFull < m_pathArc.size()) {
      m_pathArc.resize(firstFull);
      m_pathNode.resize(firstFull + 1);
    }
    return amount;
  }

  template <typename Network>
  bool advance(Network& network, int node) {
    const auto list = network.into(node);
    const int wanted = m_level[node] + 1;
    for (int& i = m_next[node]; i < length(list); ++i) {
      const int from = list.node(i);
      if (isMarked(from) && m_level[from] == wanted && network.isOpen(list.arc(i))) {
        m_pathArc.push_back(list.arc(i));
        m_pathNode.push_back(from);
        return true;
      }
    }
    return false;
  }

  std::uint32_t m_now = 0;
  std::vector<std::uint32_t> m_stamp;
  std::vector<int> m_level;
  std::vector<int> m_next;  // current-arc pointers
  std::vector<int> m_queue;
  std::vector<int> m_pathNode;
  std::vector<int> m_pathArc;
  std::uint64_t m_work = 0;
  int m_maxArcs = 0;     // of a list, in this round
  bool m_isCut = false;  // some list was longer
};

}  // namespace coppice::flow
