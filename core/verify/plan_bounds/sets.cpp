// SPDX-License-Identifier: Apache-2.0
#include "verify/plan_bounds/proof.hpp"

namespace coppice::verify::plan_bounds {

void BoundProof::addEntries(const std::vector<const Passage*>& passages, std::vector<Time>& ready) const {
  std::map<std::vector<int>, std::vector<const Passage*>> bySet;
  for (const Passage* passage : passages) {
    bySet[passage->links].push_back(passage);
  }
  for (const auto& [links, same] : bySet) {
    std::vector<Time> entries;
    Time head = kNever;
    Server server{kNever, kNever, m_model.maxTogether};
    for (const Passage* passage : same) {
      entries.push_back(passage->entry);
      head = std::min(head, passage->head);
    }
    for (const int index : links) {
      server.alpha = std::min(server.alpha, m_alpha[index]);
      server.beta = std::min(server.beta, m_beta[index]);
    }
    std::sort(entries.begin(), entries.end());
    for (std::size_t k = 0; k < entries.size() && !links.empty(); ++k) {
      // Each link has its share; messages of `max` save alphas.
      const auto share = static_cast<Time>(k / links.size()) + 1;
      const Time batches = (share + server.max - 1) / server.max;
      ready.push_back(std::max(entries[k], head + batches * server.alpha + share * server.beta));
    }
  }
}

Time BoundProof::intoSet(const std::set<int>& inside) {
  const int node = nodeOf(*inside.begin());
  std::vector<int> links;
  std::set<int> beside;
  for (const int gpu : inside) {
    for (const int index : linksOf(gpu, true)) {
      if (!inside.contains(link(index).from)) {
        links.push_back(index);
        beside.insert(link(index).from);
      }
    }
  }
  std::vector<Time> ready;
  std::vector<const Passage*> passages;
  for (const Chunk& chunk : m_chunks) {
    const bool isWanted = std::any_of(inside.begin(), inside.end(), [&](int gpu) { return isTarget(chunk, gpu); });
    if (isWanted && nodeOf(chunk.origin) == node && !inside.contains(chunk.origin)) {
      Time head = kNever;
      for (const int gpu : beside) {
        head = std::min(head, m_time[chunk.origin][gpu]);
      }
      ready.push_back(head);
    }
  }
  for (const Passage& passage : m_passages) {
    const Chunk& chunk = m_chunks[passage.chunk];
    const bool isWanted = passage.node == node &&
                          std::any_of(inside.begin(), inside.end(), [&](int gpu) { return isTarget(chunk, gpu); });
    const bool mayEnter = std::any_of(passage.links.begin(), passage.links.end(),
                                      [&](int index) { return inside.contains(link(index).to); });
    if (isWanted && !mayEnter) {
      passages.push_back(&passage);
    }
  }
  addEntries(passages, ready);
  return ready.empty() ? 0
                       : std::max(known(timeFrom(ready, serversOf(links, true))),
                                  known(timeFrom(ready, serversOf(links, false))));
}

Time BoundProof::receivers() {
  Time best = 0;
  for (int gpu = 0; gpu < m_model.gpus(); ++gpu) {
    throwIfCancelled(m_progress);
    best = std::max(best, intoSet({gpu}));
  }
  return best;
}

Time BoundProof::cuts() {
  const int m = m_model.gpusPerNode;
  Time best = 0;
  for (unsigned bits = 1; m <= 8 && bits + 1 < 1U << static_cast<unsigned>(m); ++bits) {
    throwIfCancelled(m_progress);
    std::set<int> inside;
    for (int gpu = 0; gpu < m; ++gpu) {
      if ((bits >> static_cast<unsigned>(gpu) & 1U) != 0) {
        inside.insert(gpu);
      }
    }
    best = std::max(best, inside.size() > 1 ? intoSet(inside) : 0);
  }
  return best;
}

}  // namespace coppice::verify::plan_bounds
