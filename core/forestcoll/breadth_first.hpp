// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "schedule/forest.hpp"

namespace coppice::forestcoll {

/// Brings the edges of trees into breadth-first order, children of one parent in the order given. Keeps its memory from
/// one tree to the next.
class BreadthFirst {
public:
  explicit BreadthFirst(int gpuCount) : m_firstOf(static_cast<std::size_t>(gpuCount)), m_lastOf(m_firstOf.size()) {}

  /// Appends the edges to `sorted`. @pre they span the GPUs from the root
  void append(fabric::Rank root, std::span<const schedule::TreeEdge> edges, std::vector<schedule::TreeEdge>& sorted) {
    m_firstOf.assign(m_firstOf.size(), kNone);
    m_next.resize(edges.size());
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const fabric::Rank parent = edges[i].parent;
      const int edge = static_cast<int>(i);
      (m_firstOf[parent] == kNone ? m_firstOf[parent] : m_next[m_lastOf[parent]]) = edge;
      m_lastOf[parent] = edge;
      m_next[i] = kNone;
    }
    const std::size_t first = sorted.size();
    fabric::Rank parent = root;
    for (std::size_t done = first; sorted.size() < first + edges.size(); parent = sorted[done++].child) {
      for (int i = m_firstOf[parent]; i != kNone; i = m_next[i]) {
        sorted.push_back(edges[i]);
      }
    }
  }

private:
  static constexpr int kNone = -1;

  std::vector<int> m_firstOf;  ///< by rank: its first edge as a parent
  std::vector<int> m_lastOf;
  std::vector<int> m_next;  ///< by edge: the next of the same parent
};

}  // namespace coppice::forestcoll
