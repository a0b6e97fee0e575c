// SPDX-License-Identifier: Apache-2.0
#include "live/cut_graph.hpp"

#include <algorithm>

namespace coppice::live {
namespace {

std::uint64_t pairKey(int tail, int head) {
  const auto low = static_cast<std::uint32_t>(std::min(tail, head));
  const auto high = static_cast<std::uint32_t>(std::max(tail, head));
  return (std::uint64_t{low} << 32) | high;
}

}  // namespace

int CutGraph::addNode() {
  m_list.push_back({static_cast<int>(m_half.size()), 0, 0});
  return nodeCount() - 1;
}

int CutGraph::find(int tail, int head) const {
  const auto found = m_pairs.find(pairKey(tail, head));
  return found == m_pairs.end() ? -1 : found->second + (tail < head ? 0 : 1);
}

int CutGraph::findOrAdd(int tail, int head) {
  const auto [found, isNew] = m_pairs.try_emplace(pairKey(tail, head), arcCount());
  if (isNew) {
    const int low = std::min(tail, head);
    const int high = std::max(tail, head);
    m_head.push_back(high);
    m_head.push_back(low);
    m_capacity.insert(m_capacity.end(), 2, 0);
    m_isFine.insert(m_isFine.end(), 2, 0);
    append(high, {low, found->second});
    append(low, {high, found->second + 1});
  }
  return found->second + (tail < head ? 0 : 1);
}

void CutGraph::append(int node, Half half) {
  List& list = m_list[node];
  if (list.count == list.room) {
    // A list that is full moves to the end with twice the room, so that neighbours stay together in memory.
    const int first = static_cast<int>(m_half.size());
    list.room = std::max(4, 2 * list.room);
    m_half.resize(m_half.size() + static_cast<std::size_t>(list.room));
    std::copy_n(m_half.begin() + list.first, list.count, m_half.begin() + first);
    list.first = first;
  }
  m_half[list.first + list.count++] = half;
}

}  // namespace coppice::live
