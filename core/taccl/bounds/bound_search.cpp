// SPDX-License-Identifier: Apache-2.0
#include "taccl/bounds/bound_search.hpp"

#include <algorithm>
#include <functional>
#include <queue>

#include "taccl/flow_bound.hpp"

namespace coppice::taccl {

Ticks BoundSearch::findWithin(const std::vector<char>& allowed) {
  m_allowed = &allowed;
  findLinks();
  measureDistances();
  for (const Chunk& chunk : m_problem.allChunks) {
    for (const int target : chunk.targets) {
      if (m_model.nodeOf(target) == m_model.nodeOf(chunk.origin) && distance(chunk.origin, target) >= kNever) {
        return kNever;
      }
    }
  }
  findCrossings();
  for (const auto& [key, time] : m_pathTo) {
    if (time >= kNever) {
      return kNever;
    }
  }
  boundPaths();
  boundLinks();
  boundPorts();
  return m_best.time;
}

Bound BoundSearch::find() {
  findLinks();
  findCrossings();
  boundPaths();
  boundLinks();
  boundPorts();
  for (int gpu = 0; gpu < m_model.gpus() && !m_progress.isCancelled(); ++gpu) {
    boundSet({gpu}, "receiver");
  }
  if (!m_progress.isCancelled()) {
    boundSubsets();
    boundForwarding();
    boundFlow();
  }
  return m_best;
}

void BoundSearch::measureDistances() {
  using Entry = std::pair<Ticks, int>;
  for (int start = 0; start < m_model.gpus(); ++start) {
    std::vector<Ticks>& from = m_distance[start];
    std::fill(from.begin(), from.end(), Ticks{-1});
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    queue.emplace(0, start);
    while (!queue.empty()) {
      const auto [time, gpu] = queue.top();
      queue.pop();
      if (from[gpu] >= 0) {
        continue;
      }
      from[gpu] = time;
      for (const int link : m_out[gpu]) {
        if (!m_model.links[link].isRemote && from[m_model.links[link].to] < 0) {
          queue.emplace(time + m_problem.cost(link), m_model.links[link].to);
        }
      }
    }
  }
}

void BoundSearch::findLinks() {
  m_in.resize(m_model.gpus());
  m_out.resize(m_model.gpus());
  for (std::size_t i = 0; i < m_model.links.size(); ++i) {
    if (!isAllowed(i)) {
      continue;
    }
    m_in[m_model.links[i].to].push_back(static_cast<int>(i));
    m_out[m_model.links[i].from].push_back(static_cast<int>(i));
  }
  m_inPorts.resize(m_model.links.size());
  m_outPorts.resize(m_model.links.size());
  for (std::size_t i = 0; i < m_model.machines.size(); ++i) {
    const std::vector<int>& links = m_model.machines[i].links;
    if (links.size() < 2) {
      continue;
    }
    const auto same = [&](auto end) {
      return std::all_of(links.begin(), links.end(),
                         [&](int link) { return end(m_model.links[link]) == end(m_model.links[links[0]]); });
    };
    const bool isIn = same([](const Link& link) { return link.to; });
    const bool isOut = same([](const Link& link) { return link.from; });
    for (const int link : links) {
      if (isIn) {
        m_inPorts[link].push_back(static_cast<int>(i));
      }
      if (isOut) {
        m_outPorts[link].push_back(static_cast<int>(i));
      }
    }
  }
}

void BoundSearch::boundFlow() {
  FlowBound flow = flowBound(m_problem, m_best.time, m_progress);
  const auto used = std::count_if(flow.weights.begin(), flow.weights.end(), [](std::int64_t each) { return each > 0; });
  if (flow.time > m_best.time) {
    m_best = {flow.time,
              {"flow", "all chunks over " + std::to_string(used) + " links and ports", std::move(flow.weights)}};
  }
}

}  // namespace coppice::taccl
