// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace coppice::live {

/// A residual arc that enters the node in whose list it stands.
struct Half {
  int node = 0;  ///< the neighbour it comes from
  int arc = 0;   ///< arc ^ 1 runs the other way
};

/// A digraph with integer capacities that grows in place. Arcs u->v and v->u are the two halves of a pair; capacity 0
/// means that there is no such link. Nodes and pairs are never taken away, so their numbers stay good.
class CutGraph {
public:
  int addNode();
  [[nodiscard]] int nodeCount() const { return static_cast<int>(m_list.size()); }
  [[nodiscard]] int arcCount() const { return static_cast<int>(m_capacity.size()); }

  /// -1: these two nodes were never joined.
  [[nodiscard]] int find(int tail, int head) const;
  /// Makes the pair where it is missing, with capacity 0. @pre tail != head
  int findOrAdd(int tail, int head);

  [[nodiscard]] std::span<const Half> into(int node) const {
    const List& list = m_list[node];
    return {m_half.data() + list.first, static_cast<std::size_t>(list.count)};
  }
  [[nodiscard]] int head(int arc) const { return m_head[arc]; }
  [[nodiscard]] int tail(int arc) const { return m_head[arc ^ 1]; }

  [[nodiscard]] std::int64_t capacity(int arc) const { return m_capacity[arc]; }
  /// The capacity counts in fractions of a unit (see CutEngine::beginProbe).
  [[nodiscard]] bool isFine(int arc) const { return m_isFine[arc] != 0; }
  void set(int arc, std::int64_t capacity, bool isFine) {
    m_capacity[arc] = capacity;
    m_isFine[arc] = isFine ? 1 : 0;
  }

private:
  struct List {
    int first = 0;
    int count = 0;
    int room = 0;
  };
  void append(int node, Half half);

  std::vector<List> m_list;
  std::vector<Half> m_half;
  std::vector<int> m_head;
  std::vector<std::int64_t> m_capacity;
  std::vector<char> m_isFine;
  std::unordered_map<std::uint64_t, int> m_pairs;  // (smaller node, larger node) -> arc from smaller to larger
};

}  // namespace coppice::live
