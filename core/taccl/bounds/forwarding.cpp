// SPDX-License-Identifier: Apache-2.0
#include "taccl/bounds/bound_search.hpp"

#include <algorithm>
#include <tuple>

namespace coppice::taccl {

Ticks forwardTime(int n, int own, Ticks alpha, Ticks beta, int max, Ticks forward) {
  // worst[k][b]: the least worst finish where k chunks came in b batches. Chunks for the GPU itself come last.
  std::vector<std::vector<Ticks>> worst(static_cast<std::size_t>(n) + 1,
                                        std::vector<Ticks>(static_cast<std::size_t>(n) + 1, kNever));
  worst[0][0] = 0;
  Ticks best = kNever;
  for (int k = 1; k <= n; ++k) {
    for (int batches = (k + max - 1) / max; batches <= k; ++batches) {
      for (int size = 1; size <= std::min(k, max); ++size) {
        const Ticks before = worst[k - size][batches - 1];
        if (before >= kNever) {
          continue;
        }
        const Ticks end = alpha * batches + beta * k;
        const Ticks left = std::max(0, n - (k - size) - own);
        worst[k][batches] = std::min(worst[k][batches], std::max(before, end + forward * left));
      }
      if (k == n) {
        best = std::min(best, worst[k][batches]);
      }
    }
  }
  return n == 0 ? 0 : std::max(best, forward * (n - own));
}

void BoundSearch::boundForwarding() {
  std::map<std::pair<int, int>, std::vector<const Crossing*>> byEntry;  // (link, or -1 with ports; receiver)
  for (const Crossing& crossing : m_crossings) {
    std::set<int> receivers;
    for (const int link : crossing.links) {
      receivers.insert(m_model.links[link].to);
    }
    if (crossing.links.size() == 1) {
      byEntry[{crossing.links.front(), *receivers.begin()}].push_back(&crossing);
    }
    if (receivers.size() == 1 && m_model.nodes > 2) {
      byEntry[{-1, *receivers.begin()}].push_back(&crossing);
    }
  }
  std::map<std::tuple<std::size_t, int, Ticks, Ticks, Ticks>, Ticks> times;
  for (const auto& [key, crossings] : byEntry) {
    const int gpu = key.second;
    std::vector<int> local;
    for (const int link : m_out[gpu]) {
      if (!m_model.links[link].isRemote) {
        local.push_back(link);
      }
    }
    const Servers servers = serversOf(local, m_outPorts);
    if (servers.size() != 1 || crossings.size() > 300) {
      continue;
    }
    int own = 0;
    Ticks alpha = kNever;
    Ticks beta = kNever;
    for (const Crossing* crossing : crossings) {
      const Chunk& chunk = m_problem.allChunks[crossing->chunk];
      const bool isForItself = std::none_of(chunk.targets.begin(), chunk.targets.end(), [&](int target) {
        return target != gpu && m_model.nodeOf(target) == crossing->node;
      });
      own += isForItself ? 1 : 0;
      alpha = std::min(alpha, m_problem.alpha[crossing->links.front()]);
      beta = std::min(beta, m_problem.beta[crossing->links.front()]);
    }
    const auto [known, isNew] = times.emplace(std::tuple(crossings.size(), own, alpha, beta, servers.front()), 0);
    if (isNew) {
      known->second =
          forwardTime(static_cast<int>(crossings.size()), own, alpha, beta, m_model.maxTogether, servers.front());
    }
    offer(known->second, "forwarding",
          std::to_string(crossings.size()) + " chunks that enter at GPU " + std::to_string(gpu));
  }
}

}  // namespace coppice::taccl
