// SPDX-License-Identifier: Apache-2.0
#include "taccl/bounds/bound_search.hpp"

#include <algorithm>

#include "base/comma_list.hpp"

namespace coppice::taccl {

Ticks serveTime(const Servers& servers, std::int64_t n) {
  if (n <= 0) {
    return 0;
  }
  if (servers.empty()) {
    return kNever;
  }
  Ticks low = 0;
  Ticks high = *std::min_element(servers.begin(), servers.end()) * n;
  while (low < high) {
    const Ticks middle = low + (high - low) / 2;
    std::int64_t done = 0;
    for (const Ticks time : servers) {
      done += middle / time;
    }
    if (done >= n) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

Ticks afterReady(std::vector<Ticks>& ready, const Servers& servers) {
  std::sort(ready.begin(), ready.end());
  Ticks best = 0;
  for (std::size_t k = 0; k < ready.size(); ++k) {
    if (k == 0 || ready[k] != ready[k - 1]) {
      best = std::max(best, ready[k] + serveTime(servers, static_cast<std::int64_t>(ready.size() - k)));
    }
  }
  return best;
}

Servers BoundSearch::serversOf(const std::vector<int>& links, const std::vector<std::vector<int>>& ports) const {
  Servers servers;
  std::map<int, Ticks> shared;
  for (const int link : links) {
    if (ports[link].empty()) {
      servers.push_back(m_problem.beta[link]);
    } else {
      const auto [at, isNew] = shared.emplace(ports[link].front(), m_problem.beta[link]);
      at->second = std::min(at->second, m_problem.beta[link]);
    }
  }
  for (const auto& [port, time] : shared) {
    servers.push_back(time);
  }
  return servers;
}

std::vector<Ticks> BoundSearch::arrivalsOf(const std::vector<const Crossing*>& crossings) const {
  std::map<std::vector<int>, std::vector<const Crossing*>> bySet;
  for (const Crossing* crossing : crossings) {
    bySet[crossing->links].push_back(crossing);
  }
  std::vector<Ticks> all;
  for (const auto& [links, same] : bySet) {
    std::vector<Ticks> arrivals;
    Ticks head = kNever;
    Ticks alpha = kNever;
    Ticks beta = kNever;
    for (const Crossing* crossing : same) {
      arrivals.push_back(crossing->arrival);
      head = std::min(head, crossing->head);
    }
    for (const int link : links) {
      alpha = std::min(alpha, m_problem.alpha[link]);
      beta = std::min(beta, m_problem.beta[link]);
    }
    std::sort(arrivals.begin(), arrivals.end());
    for (std::size_t j = 0; j < arrivals.size(); ++j) {
      const auto each = static_cast<Ticks>(j / links.size() + 1);
      arrivals[j] =
          std::max(arrivals[j], head + alpha * ((each + m_model.maxTogether - 1) / m_model.maxTogether) + beta * each);
    }
    all.insert(all.end(), arrivals.begin(), arrivals.end());
  }
  return all;
}

std::vector<Ticks> BoundSearch::readyFor(const std::set<int>& inside, const std::vector<int>& links) const {
  const int node = m_model.nodeOf(*inside.begin());
  std::set<int> neighbours;
  for (const int link : links) {
    neighbours.insert(m_model.links[link].from);
  }
  std::vector<Ticks> ready;
  std::vector<const Crossing*> from;
  for (std::size_t i = 0; i < m_problem.allChunks.size(); ++i) {
    const Chunk& chunk = m_problem.allChunks[i];
    const bool isWanted =
        std::any_of(chunk.targets.begin(), chunk.targets.end(), [&](int target) { return inside.contains(target); });
    if (!isWanted || inside.contains(chunk.origin)) {
      continue;
    }
    if (m_model.nodeOf(chunk.origin) == node) {
      Ticks head = kNever;
      for (const int gpu : neighbours) {
        head = std::min(head, distance(chunk.origin, gpu));
      }
      ready.push_back(head);
      continue;
    }
    for (const int index : m_crossingsOf[i]) {
      const Crossing& crossing = m_crossings[index];
      const bool mayEnter = std::any_of(crossing.links.begin(), crossing.links.end(),
                                        [&](int link) { return inside.contains(m_model.links[link].to); });
      if (crossing.node == node && !mayEnter) {
        from.push_back(&crossing);
      }
    }
  }
  const std::vector<Ticks> arrivals = arrivalsOf(from);
  ready.insert(ready.end(), arrivals.begin(), arrivals.end());
  return ready;
}

std::vector<int> BoundSearch::linksInto(const std::set<int>& inside) const {
  std::vector<int> links;
  for (const int gpu : inside) {
    for (const int link : m_in[gpu]) {
      if (!m_model.links[link].isRemote && !inside.contains(m_model.links[link].from)) {
        links.push_back(link);
      }
    }
  }
  return links;
}

void BoundSearch::boundSet(const std::set<int>& inside, const char* name) {
  const std::vector<int> links = linksInto(inside);
  std::vector<Ticks> ready = readyFor(inside, links);
  if (ready.empty()) {
    return;
  }
  const Ticks time =
      std::max(afterReady(ready, serversOf(links, m_inPorts)), afterReady(ready, serversOf(links, m_outPorts)));
  const std::string members = commaList(inside, [](const int gpu) { return std::to_string(gpu); });
  offer(time, name, std::to_string(ready.size()) + " chunks into GPU " + members);
}

void BoundSearch::boundSubsets() {
  const int m = m_model.gpusPerNode;
  if (m > 8) {
    return;
  }
  for (unsigned bits = 1; bits + 1 < 1U << static_cast<unsigned>(m); ++bits) {
    if (m_progress.isCancelled()) {
      return;
    }
    std::set<int> inside;
    for (int gpu = 0; gpu < m; ++gpu) {
      if ((bits >> static_cast<unsigned>(gpu) & 1U) != 0) {
        inside.insert(gpu);
      }
    }
    if (inside.size() > 1) {
      boundSet(inside, "cut of a node");
    }
  }
}

}  // namespace coppice::taccl
