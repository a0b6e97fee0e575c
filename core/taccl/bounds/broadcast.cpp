// SPDX-License-Identifier: Apache-2.0
#include "taccl/bounds/bound_search.hpp"

#include <algorithm>

namespace coppice::taccl {

Ticks BoundSearch::spreadTime(int from, std::vector<int> targets) {
  targets.erase(std::remove(targets.begin(), targets.end(), from), targets.end());
  Ticks farthest = 0;
  for (const int target : targets) {
    farthest = std::max(farthest, distance(from, target));
  }
  if (!m_problem.sendsOneAtATime || targets.empty()) {
    return farthest;
  }
  const auto key = std::pair(from, targets);
  const auto known = m_spread.find(key);
  return known != m_spread.end() ? known->second
                                 : m_spread.emplace(key, broadcastTime(from, targets, farthest)).first->second;
}

Ticks BoundSearch::broadcastTime(int from, const std::vector<int>& targets, Ticks min) const {
  // Doubling: in the time of the fastest send, each GPU that has the chunk can bring it to one more.
  const int first = m_model.nodeOf(from) * m_model.gpusPerNode;
  std::vector<int> links;
  Ticks fastest = kNever;
  for (std::size_t i = 0; i < m_model.links.size(); ++i) {
    const Link& link = m_model.links[i];
    if (!link.isRemote && m_model.nodeOf(link.from) == m_model.nodeOf(from) && isAllowed(i)) {
      links.push_back(static_cast<int>(i));
      fastest = std::min(fastest, m_problem.cost(static_cast<int>(i)));
    }
  }
  std::size_t holders = 1;
  Ticks doubling = 0;
  while (holders < targets.size() + 1 && fastest < kNever) {
    holders *= 2;
    doubling += fastest;
  }
  Ticks bound = std::max(min, doubling);
  const int m = m_model.gpusPerNode;
  if (m > 8 || m_allowed != nullptr) {
    return bound;
  }
  // Exactly, by trying all sends in the order of their ends: state = when each GPU that has it can send again.
  Ticks best = kNever;
  std::vector<Ticks> free(static_cast<std::size_t>(m), -1);
  free[from - first] = 0;
  std::int64_t steps = 0;
  const auto visit = [&](const auto& self, std::size_t left, Ticks lastEnd) -> void {
    if (left == 0) {
      best = std::min(best, lastEnd);
      return;
    }
    if (best <= bound || ++steps > 2'000'000) {
      return;
    }
    for (const int id : links) {
      const Link& link = m_model.links[id];
      const int u = link.from - first;
      const int v = link.to - first;
      if (free[u] < 0 || free[v] >= 0) {
        continue;
      }
      const Ticks end = free[u] + m_problem.cost(id);
      if (end < lastEnd || end >= best) {
        continue;
      }
      const Ticks before = free[u];
      free[u] = end;
      free[v] = end;
      const bool isTarget = std::binary_search(targets.begin(), targets.end(), link.to);
      self(self, left - (isTarget ? 1 : 0), end);
      free[u] = before;
      free[v] = -1;
    }
  };
  visit(visit, targets.size(), 0);
  return steps > 2'000'000 ? bound : std::max(bound, best);
}

}  // namespace coppice::taccl
