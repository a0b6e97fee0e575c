// SPDX-License-Identifier: Apache-2.0
#include "verify/plan_bounds/proof.hpp"

#include <tuple>

namespace coppice::verify::plan_bounds {

Time BoundProof::forwarding() {
  std::map<std::pair<int, int>, std::vector<const Passage*>> byEntry;
  for (const Passage& passage : m_passages) {
    std::set<int> ends;
    for (const int index : passage.links) {
      ends.insert(link(index).to);
    }
    if (passage.links.size() == 1) {
      byEntry[{passage.links.front(), *ends.begin()}].push_back(&passage);
    }
    if (ends.size() == 1 && m_model.nodes > 2) {
      byEntry[{-1, *ends.begin()}].push_back(&passage);
    }
  }
  Time best = 0;
  std::map<std::tuple<std::size_t, int, Time, Time, Time>, Time> times;
  for (const auto& [key, passages] : byEntry) {
    throwIfCancelled(m_progress);
    const int gpu = key.second;
    const std::vector<Time> servers = serversOf(linksOf(gpu, false), false);
    if (servers.size() != 1 || passages.size() > 300) {
      continue;
    }
    Server in{kNever, kNever, m_model.maxTogether};
    int kept = 0;
    for (const Passage* passage : passages) {
      for (const int index : passage->links) {
        in.alpha = std::min(in.alpha, m_alpha[index]);
        in.beta = std::min(in.beta, m_beta[index]);
      }
      const Chunk& chunk = m_chunks[passage->chunk];
      const bool goesOn = std::any_of(chunk.targets.begin(), chunk.targets.end(),
                                      [&](int target) { return target != gpu && nodeOf(target) == passage->node; });
      kept += goesOn ? 0 : 1;
    }
    const auto [at, isNew] = times.try_emplace({passages.size(), kept, in.alpha, in.beta, servers[0]}, 0);
    if (isNew) {
      at->second = forwardTime(static_cast<int>(passages.size()), kept, in, servers[0]);
    }
    best = std::max(best, at->second);
  }
  return best;
}

bool BoundProof::canForward(int n, int kept, const Server& in, Time forward, Time limit) {
  if (forward * (n - kept) > limit) {
    return false;
  }
  // fewest[k]: messages in which the first k chunks can be in, each message early enough for what it and later ones
  // bring; those that stay come last.
  constexpr int kNone = 1 << 20;
  std::vector<int> fewest(static_cast<std::size_t>(n) + 1, kNone);
  fewest[0] = 0;
  for (int k = 1; k <= n; ++k) {
    for (int size = 1; size <= std::min(k, in.max); ++size) {
      const int before = fewest[k - size];
      const Time end = in.alpha * (before + 1) + in.beta * k;
      const Time onward = forward * std::max(0, n - (k - size) - kept);
      if (before < kNone && end + onward <= limit) {
        fewest[k] = std::min(fewest[k], before + 1);
      }
    }
  }
  return fewest[n] < kNone;
}

Time BoundProof::forwardTime(int n, int kept, const Server& in, Time forward) {
  Time low = 0;
  Time high = (in.alpha + in.beta + forward) * (n + 1);
  while (low < high) {
    const Time middle = low + (high - low) / 2;
    if (canForward(n, kept, in, forward, middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace coppice::verify::plan_bounds
