// SPDX-License-Identifier: Apache-2.0
#include "taccl/bounds/bound_search.hpp"

#include <algorithm>

namespace coppice::taccl {

Ticks batchTime(const std::vector<Ticks>& ready, Ticks alpha, Ticks beta, const std::vector<Ticks>& spread) {
  std::vector<Ticks> done(ready.size() + 1);
  const auto isEnough = [&](Ticks limit) {
    for (std::size_t k = 1; k <= ready.size(); ++k) {
      done[k] = kNever;
      for (std::size_t size = 1; size <= std::min(k, spread.size()); ++size) {
        const Ticks end = std::max(done[k - size], ready[k - 1]) + alpha + beta * static_cast<Ticks>(size);
        done[k] = end + spread[size - 1] <= limit ? std::min(done[k], end) : done[k];
      }
    }
    return done.back() < kNever;
  };
  // One after the other is possible, if slow.
  Ticks low = 0;
  Ticks high = ready.empty() ? 0 : ready.back() + (alpha + beta) * static_cast<Ticks>(ready.size()) + spread.front();
  while (low < high) {
    const Ticks middle = low + (high - low) / 2;
    if (isEnough(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

void BoundSearch::findCrossings() {
  m_crossingsOf.resize(m_problem.allChunks.size());
  for (std::size_t i = 0; i < m_problem.allChunks.size(); ++i) {
    const Chunk& chunk = m_problem.allChunks[i];
    std::map<int, std::vector<int>> targets;
    for (const int target : chunk.targets) {
      if (m_model.nodeOf(target) != m_model.nodeOf(chunk.origin)) {
        targets[m_model.nodeOf(target)].push_back(target);
      }
    }
    for (const auto& [node, there] : targets) {
      addCrossing(static_cast<int>(i), node, there);
    }
  }
}

void BoundSearch::addCrossing(int index, int node, const std::vector<int>& targets) {
  const int origin = m_problem.allChunks[index].origin;
  Crossing crossing;
  crossing.chunk = index;
  crossing.node = node;
  crossing.head = crossing.tail = crossing.arrival = kNever;
  const int first = m_model.nodeOf(origin) * m_model.gpusPerNode;
  for (int gpu = first; gpu < first + m_model.gpusPerNode; ++gpu) {
    for (const int link : m_out[gpu]) {
      if (m_model.nodeOf(m_model.links[link].to) != node || !mayCross(origin, link) || !mayVisit(index, gpu) ||
          !mayVisit(index, m_model.links[link].to)) {
        continue;
      }
      crossing.links.push_back(link);
      const Ticks head = distance(origin, gpu);
      const Ticks tail = spreadTime(m_model.links[link].to, targets);
      crossing.head = std::min(crossing.head, head);
      crossing.tail = std::min(crossing.tail, tail);
      crossing.arrival = std::min(crossing.arrival, head + m_problem.cost(link));
      auto& through = m_pathTo[{index, node}];
      const Ticks whole = head + m_problem.cost(link) + tail;
      through = through == 0 ? whole : std::min(through, whole);
    }
  }
  m_crossingsOf[index].push_back(static_cast<int>(m_crossings.size()));
  m_crossings.push_back(std::move(crossing));
}

void BoundSearch::boundPaths() {
  for (const auto& [key, time] : m_pathTo) {
    offer(time, "path",
          "a chunk of GPU " + std::to_string(m_problem.allChunks[key.first].origin) + " to node " +
              std::to_string(key.second));
  }
  for (const Chunk& chunk : m_problem.allChunks) {
    std::vector<int> here;
    for (const int target : chunk.targets) {
      if (m_model.nodeOf(target) == m_model.nodeOf(chunk.origin)) {
        here.push_back(target);
      }
    }
    offer(spreadTime(chunk.origin, here), "path", "a chunk of GPU " + std::to_string(chunk.origin) + " in its node");
  }
}

void BoundSearch::join(TimedServers& servers, int link, const std::vector<std::vector<int>>& ports, Ticks begin) const {
  const int key = ports[link].empty() ? -1 - link : ports[link].front();
  const auto [at, isFirst] = servers.emplace(key, std::pair(begin, m_problem.cost(link)));
  at->second = {std::min(at->second.first, begin), std::min(at->second.second, m_problem.cost(link))};
}

std::vector<Ticks> BoundSearch::timesOf(const TimedServers& servers, int n, bool isBegin) {
  std::vector<Ticks> times;
  for (const auto& [key, server] : servers) {
    for (int i = 1; i <= n; ++i) {
      times.push_back(server.first + server.second * (isBegin ? i - 1 : i));
    }
  }
  std::sort(times.begin(), times.end());
  times.resize(n, kNever);
  return times;
}

Ticks BoundSearch::spreadOf(int from, int n) {
  const auto [known, isNew] = m_spreadOf.try_emplace({from, n}, 0);
  if (!isNew) {
    return known->second;
  }
  const int first = from - from % m_model.gpusPerNode;
  TimedServers out;
  Ticks farthest = 0;
  Ticks best = 0;
  for (int gpu = first; gpu < first + m_model.gpusPerNode; ++gpu) {
    TimedServers in;
    for (const int link : m_in[gpu]) {
      if (m_model.links[link].isRemote || gpu == from) {
        continue;
      }
      join(in, link, m_inPorts, distance(from, m_model.links[link].from));
      if (m_model.links[link].from == from) {
        join(out, link, m_outPorts, 0);
      }
    }
    if (gpu != from) {
      farthest = std::max(farthest, distance(from, gpu));
      best = std::max(best, timesOf(in, n, false).back());
    }
  }
  // The chunk that leaves last has the whole way before it then.
  best = std::max(best, out.empty() ? 0 : timesOf(out, n, true).back() + farthest);
  known->second = best;
  return best;
}

void BoundSearch::waitForInput(const std::vector<const Crossing*>& crossings, std::vector<Ticks>& ready) const {
  const int sender = m_model.links[crossings.front()->links.front()].from;
  std::map<int, std::size_t> uses;  // by chunk of another GPU
  std::size_t own = 0;
  std::size_t max = 1;
  for (const Crossing* crossing : crossings) {
    for (const int link : crossing->links) {
      if (m_model.links[link].from != sender) {
        return;
      }
    }
    if (m_problem.allChunks[crossing->chunk].origin == sender) {
      ++own;
    } else {
      max = std::max(max, ++uses[crossing->chunk]);
    }
  }
  TimedServers in;
  for (const int link : m_in[sender]) {
    if (m_model.links[link].isRemote) {
      continue;
    }
    Ticks begin = kNever;
    for (const auto& [chunk, count] : uses) {
      begin = std::min(begin, distance(m_problem.allChunks[chunk].origin, m_model.links[link].from));
    }
    join(in, link, m_inPorts, begin);
  }
  const std::vector<Ticks> arrivals = timesOf(in, static_cast<int>(uses.size()), false);
  for (std::size_t k = own; k < ready.size(); ++k) {
    ready[k] = std::max(ready[k], arrivals[(k - own) / max]);
  }
}

std::vector<Ticks> BoundSearch::spreadOf(const std::vector<const Crossing*>& crossings, Ticks tail) {
  std::set<int> receivers;
  for (const Crossing* crossing : crossings) {
    const std::vector<int>& targets = m_problem.allChunks[crossing->chunk].targets;
    const auto wanted = std::count_if(targets.begin(), targets.end(),
                                      [&](int target) { return m_model.nodeOf(target) == crossing->node; });
    if (wanted != m_model.gpusPerNode) {
      return {};
    }
    for (const int link : crossing->links) {
      receivers.insert(m_model.links[link].to);
    }
  }
  std::vector<Ticks> spread;
  for (int n = 1; n <= std::min<int>(m_model.maxTogether, static_cast<int>(crossings.size())); ++n) {
    Ticks min = kNever;
    for (const int receiver : receivers) {
      min = std::min(min, spreadOf(receiver, n));
    }
    spread.push_back(std::max(tail, min));
  }
  return spread;
}

void BoundSearch::boundCrossings(const std::vector<const Crossing*>& crossings, std::size_t machines,
                                 const std::string& members, const char* name) {
  if (crossings.empty() || machines == 0) {
    return;
  }
  Ticks alpha = kNever;
  Ticks beta = kNever;
  std::set<Ticks> tails;
  std::set<Ticks> heads;
  for (const Crossing* crossing : crossings) {
    for (const int link : crossing->links) {
      alpha = std::min(alpha, m_problem.alpha[link]);
      beta = std::min(beta, m_problem.beta[link]);
    }
    tails.insert(crossing->tail);
    heads.insert(crossing->head);
  }
  const int max = m_model.maxTogether;
  for (const Ticks tail : tails) {
    std::vector<Ticks> ready;
    std::vector<const Crossing*> late;
    for (const Crossing* crossing : crossings) {
      if (crossing->tail >= tail) {
        ready.push_back(crossing->head);
        late.push_back(crossing);
      }
    }
    std::sort(ready.begin(), ready.end());
    if (machines == 1 && m_allowed == nullptr) {
      waitForInput(late, ready);
    }
    const std::string text = std::to_string(ready.size()) + " chunks " + members;
    if (machines == 1) {
      const std::vector<Ticks> spread = m_allowed == nullptr ? spreadOf(crossings, tail) : std::vector<Ticks>();
      if (!spread.empty()) {
        offer(batchTime(ready, alpha, beta, spread), name, text);
      }
    }
    for (const Ticks head : heads) {
      const auto from = std::lower_bound(ready.begin(), ready.end(), head);
      const auto n = static_cast<Ticks>(ready.end() - from);
      const Ticks each = (n + static_cast<Ticks>(machines) - 1) / static_cast<Ticks>(machines);
      offer(n == 0 ? 0 : head + alpha * ((each + max - 1) / max) + beta * each + tail, name, text);
    }
  }
}

void BoundSearch::boundLinks() {
  std::map<std::vector<int>, std::vector<const Crossing*>> bySet;
  for (const Crossing& crossing : m_crossings) {
    bySet[crossing.links].push_back(&crossing);
  }
  if (bySet.size() > 4096) {
    return;
  }
  for (const auto& [links, own] : bySet) {
    std::vector<const Crossing*> inside;
    for (const auto& [others, crossings] : bySet) {
      if (std::includes(links.begin(), links.end(), others.begin(), others.end())) {
        inside.insert(inside.end(), crossings.begin(), crossings.end());
      }
    }
    const Link& link = m_model.links[links.front()];
    boundCrossings(inside, links.size(),
                   "from node " + std::to_string(m_model.nodeOf(link.from)) + " to node " +
                       std::to_string(m_model.nodeOf(link.to)),
                   "links between nodes");
  }
}

void BoundSearch::boundPorts() {
  if (m_model.nodes < 3 && m_model.nics.empty()) {
    return;
  }
  // A GPU, or for all that share a NIC the first possible one.
  const auto portOf = [this](int gpu) {
    return m_model.nics.empty() ? gpu : gpu - gpu % m_model.gpusPerNode + m_model.nics[gpu % m_model.gpusPerNode];
  };
  std::map<std::vector<int>, std::vector<const Crossing*>> bySet;
  for (const Crossing& crossing : m_crossings) {
    std::set<int> ends;
    for (const int link : crossing.links) {
      ends.insert(portOf(m_model.links[link].from));
    }
    bySet[std::vector<int>(ends.begin(), ends.end())].push_back(&crossing);
  }
  for (const auto& [gpus, own] : bySet) {
    std::vector<const Crossing*> inside;
    for (const auto& [others, crossings] : bySet) {
      if (std::includes(gpus.begin(), gpus.end(), others.begin(), others.end())) {
        inside.insert(inside.end(), crossings.begin(), crossings.end());
      }
    }
    boundCrossings(inside, gpus.size(), "out of node " + std::to_string(m_model.nodeOf(gpus.front())),
                   "ports to other nodes");
  }
}

}  // namespace coppice::taccl
