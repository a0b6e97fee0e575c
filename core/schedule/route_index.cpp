// SPDX-License-Identifier: Apache-2.0
#include "schedule/route_index.hpp"

#include <algorithm>
#include <cstdint>

namespace coppice::schedule {
namespace {

constexpr PathId kFree = -1;

}  // namespace

PathId RouteIndex::idOf(std::span<const fabric::NodeIndex> path) {
  std::size_t slot = slotOf(path);
  if (m_slots[slot] == kFree) {
    if (2 * (static_cast<std::size_t>(m_paths.size()) + 1) > m_slots.size()) {
      m_slots.assign(m_slots.size() * 2, kFree);
      for (PathId id = 0; id < m_paths.size(); ++id) {
        m_slots[slotOf(m_paths[id])] = id;
      }
      slot = slotOf(path);
    }
    m_slots[slot] = m_paths.add(path);
  }
  return m_slots[slot];
}

std::size_t RouteIndex::slotOf(std::span<const fabric::NodeIndex> path) const {
  std::uint64_t hash = path.size();
  for (const fabric::NodeIndex node : path) {
    hash = (hash ^ static_cast<std::uint64_t>(node)) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  }
  std::size_t slot = hash & (m_slots.size() - 1);
  while (m_slots[slot] != kFree && !std::ranges::equal(m_paths[m_slots[slot]], path)) {
    slot = (slot + 1) & (m_slots.size() - 1);
  }
  return slot;
}

}  // namespace coppice::schedule
