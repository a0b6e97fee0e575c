// SPDX-License-Identifier: Apache-2.0
#include "verify/plan_bounds/proof.hpp"

namespace coppice::verify::plan_bounds {

Time BoundProof::spread(int from, std::vector<int> targets) {
  std::erase(targets, from);
  Time farthest = 0;
  for (const int target : targets) {
    farthest = std::max(farthest, m_time[from][target]);
  }
  if (!m_isReduction || targets.empty() || farthest >= kNever) {
    return farthest;
  }
  const auto [known, isNew] = m_spread.try_emplace({from, targets}, 0);
  if (isNew) {
    known->second = spreadOneByOne(from, targets, farthest);
  }
  return known->second;
}

Time BoundProof::spreadOneByOne(int from, const std::vector<int>& targets, Time min) const {
  const int node = nodeOf(from);
  std::set<Time> costs;
  for (std::size_t i = 0; i < m_model.links.size(); ++i) {
    if (!m_model.links[i].isRemote && nodeOf(m_model.links[i].from) == node) {
      costs.insert(cost(static_cast<int>(i)));
    }
  }
  Time bound = min;
  Time doubling = 0;
  for (std::size_t holders = 1; holders < targets.size() + 1; holders *= 2) {
    doubling += *costs.begin();
  }
  bound = std::max(bound, doubling);
  if (m_model.gpusPerNode > 8) {
    return bound;
  }
  // The smallest limit that can be kept is a sum of costs.
  std::set<Time> sums = {0};
  for (int i = 1; i < m_model.gpusPerNode && sums.size() < 4096; ++i) {
    std::set<Time> longer = sums;
    for (const Time sum : sums) {
      for (const Time each : costs) {
        longer.insert(sum + each);
      }
    }
    sums = std::move(longer);
  }
  for (auto limit = sums.lower_bound(bound); limit != sums.end(); ++limit) {
    m_steps = 0;
    std::vector<Time> free(static_cast<std::size_t>(m_model.gpusPerNode), kNever);
    free[from % m_model.gpusPerNode] = 0;
    if (canSpread(node, targets, free, 0, *limit)) {
      return *limit;
    }
    if (m_steps > kMaxSteps) {
      return bound;
    }
    bound = *limit;
  }
  return bound;
}

bool BoundProof::canSpread(int node, const std::vector<int>& targets, std::vector<Time>& free, unsigned done,
                           Time limit) const {
  if (++m_steps > kMaxSteps) {
    return false;
  }
  const int m = m_model.gpusPerNode;
  int sender = -1;
  for (int gpu = 0; gpu < m; ++gpu) {
    if (free[gpu] < kNever && (done >> static_cast<unsigned>(gpu) & 1U) == 0 &&
        (sender < 0 || free[gpu] < free[sender])) {
      sender = gpu;
    }
  }
  bool isOver = true;
  for (const int target : targets) {
    if (free[target % m] < kNever) {
      continue;
    }
    isOver = false;
    bool isNear = false;
    for (int gpu = 0; gpu < m && !isNear; ++gpu) {
      isNear = free[gpu] < kNever && (done >> static_cast<unsigned>(gpu) & 1U) == 0 &&
               free[gpu] + m_time[node * m + gpu][target] <= limit;
    }
    if (!isNear) {
      return false;
    }
  }
  if (isOver || sender < 0) {
    return isOver;
  }
  const Time before = free[sender];
  for (const int index : linksFrom(node * m + sender)) {
    const int to = link(index).to % m;
    const Time end = before + cost(index);
    if (link(index).isRemote || free[to] < kNever || end > limit) {
      continue;
    }
    free[sender] = free[to] = end;
    const bool isPossible = canSpread(node, targets, free, done, limit);
    free[sender] = before;
    free[to] = kNever;
    if (isPossible) {
      return true;
    }
  }
  return canSpread(node, targets, free, done | 1U << static_cast<unsigned>(sender), limit);
}

}  // namespace coppice::verify::plan_bounds
