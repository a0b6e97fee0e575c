// SPDX-License-Identifier: Apache-2.0
#include "verify/plan_bounds/proof.hpp"

#include "verify/plan_model.hpp"

namespace coppice::verify::plan_bounds {

bool BoundProof::isBetween(const Chunk& chunk, int gpu) const {
  return gpu == chunk.origin || std::any_of(chunk.targets.begin(), chunk.targets.end(), [&](int target) {
           const int all = m_hops[chunk.origin][target];
           return all < kFar && m_hops[chunk.origin][gpu] + m_hops[gpu][target] == all;
         });
}

bool BoundProof::mayLeave(const Chunk& chunk, int index) const {
  const Link& each = link(index);
  return each.isRemote && nodeOf(each.from) == nodeOf(chunk.origin) &&
         mayLeaveBy(m_model, chunk.origin, m_isReduction ? each.to : each.from);
}

bool BoundProof::needsDetour(const Chunk& chunk) const {
  if (m_model.relays.empty()) {
    return false;
  }
  std::vector<char> nodes(static_cast<std::size_t>(m_model.nodes));
  nodes[nodeOf(chunk.origin)] = 1;
  for (const int target : chunk.targets) {
    nodes[nodeOf(target)] = 1;
  }
  std::vector<char> seen(static_cast<std::size_t>(m_model.gpus()));
  seen[chunk.origin] = 1;
  std::vector<int> stack = {chunk.origin};
  while (!stack.empty()) {
    const int gpu = stack.back();
    stack.pop_back();
    for (const int index : linksFrom(gpu)) {
      const int to = link(index).to;
      const bool isAllowed = !link(index).isRemote || mayLeave(chunk, index);
      if (seen[to] == 0 && nodes[nodeOf(to)] != 0 && isAllowed && isBetween(chunk, to)) {
        seen[to] = 1;
        stack.push_back(to);
      }
    }
  }
  return !std::all_of(chunk.targets.begin(), chunk.targets.end(), [&](int target) { return seen[target] != 0; });
}

void BoundProof::findPassages() {
  for (std::size_t i = 0; i < m_model.links.size(); ++i) {
    if (m_model.links[i].isRemote) {
      m_between[{nodeOf(m_model.links[i].from), nodeOf(m_model.links[i].to)}].push_back(static_cast<int>(i));
    }
  }
  for (std::size_t i = 0; i < m_chunks.size(); ++i) {
    throwIfCancelled(m_progress);
    const Chunk& chunk = m_chunks[i];
    std::map<int, std::vector<int>> byNode;
    for (const int target : chunk.targets) {
      byNode[nodeOf(target)].push_back(target);
    }
    const bool isFree = byNode.empty() || needsDetour(chunk);
    for (const auto& [node, targets] : byNode) {
      if (node != nodeOf(chunk.origin)) {
        addPassage(static_cast<int>(i), node, targets, isFree);
      }
    }
  }
}

void BoundProof::addPassage(int index, int node, const std::vector<int>& targets, bool isFree) {
  const Chunk& chunk = m_chunks[index];
  Passage passage;
  passage.chunk = index;
  passage.node = node;
  for (const int each : m_between[{nodeOf(chunk.origin), node}]) {
    const int from = link(each).from;
    const int to = link(each).to;
    if (!mayLeave(chunk, each) || (!isFree && !(isBetween(chunk, from) && isBetween(chunk, to)))) {
      continue;
    }
    const Time head = m_time[chunk.origin][from];
    const Time tail = spread(to, targets);
    passage.links.push_back(each);
    passage.head = std::min(passage.head, head);
    passage.tail = std::min(passage.tail, tail);
    passage.entry = std::min(passage.entry, head + cost(each));
    passage.whole = std::min(passage.whole, head + cost(each) + tail);
  }
  m_passages.push_back(std::move(passage));
}

Time BoundProof::path() {
  Time best = 0;
  for (const Passage& passage : m_passages) {
    best = std::max(best, known(passage.whole));
  }
  for (const Chunk& chunk : m_chunks) {
    std::vector<int> here;
    for (const int target : chunk.targets) {
      if (nodeOf(target) == nodeOf(chunk.origin)) {
        here.push_back(target);
      }
    }
    best = std::max(best, known(spread(chunk.origin, here)));
  }
  return best;
}

Time BoundProof::passTime(const std::vector<const Passage*>& passages, std::size_t machines) const {
  Server server{kNever, kNever, m_model.maxTogether};
  std::set<Time> tails;
  for (const Passage* passage : passages) {
    for (const int index : passage->links) {
      server.alpha = std::min(server.alpha, m_alpha[index]);
      server.beta = std::min(server.beta, m_beta[index]);
    }
    tails.insert(passage->tail);
  }
  Time best = 0;
  for (const Time tail : tails) {
    std::vector<Time> heads;
    for (const Passage* passage : passages) {
      if (passage->tail >= tail) {
        heads.push_back(passage->head);
      }
    }
    best = std::max(best, known(evenly(heads, server, machines) + tail));
    if (machines == 1) {
      holdBack(passages, tail, heads);
      best = std::max(best, known(spreadingTime(heads, server, tail, passages)));
    }
  }
  return best;
}

void BoundProof::holdBack(const std::vector<const Passage*>& passages, Time tail, std::vector<Time>& heads) const {
  std::set<int> senders;
  std::set<int> origins;
  std::map<int, int> passagesOf;  // by chunk of other GPUs
  int own = 0;
  for (const Passage* passage : passages) {
    for (const int index : passage->links) {
      senders.insert(link(index).from);
    }
  }
  if (senders.size() != 1) {
    return;
  }
  const int sender = *senders.begin();
  for (const Passage* passage : passages) {
    if (const int origin = m_chunks[passage->chunk].origin; passage->tail >= tail && origin == sender) {
      ++own;
    } else if (passage->tail >= tail) {
      ++passagesOf[passage->chunk];
      origins.insert(origin);
    }
  }
  int copies = 1;
  for (const auto& [chunk, count] : passagesOf) {
    copies = std::max(copies, count);
  }
  std::map<int, TimedServer> in;
  for (const int index : linksOf(sender, true)) {
    Time begin = kNever;
    for (const int origin : origins) {
      begin = std::min(begin, m_time[origin][link(index).from]);
    }
    widen(in[portOf(index, true)], begin, cost(index));
  }
  std::sort(heads.begin(), heads.end());
  const std::vector<Time> times = firstTimes(in, passagesOf.size(), false);
  for (int k = own; k < static_cast<int>(heads.size()); ++k) {
    heads[k] = std::max(heads[k], times[(k - own) / copies]);
  }
}

Time BoundProof::spreadingTime(std::vector<Time> ready, const Server& server, Time tail,
                               const std::vector<const Passage*>& passages) const {
  std::set<int> ends;
  for (const Passage* passage : passages) {
    if (static_cast<int>(targetsIn(m_chunks[passage->chunk], passage->node).size()) < m_model.gpusPerNode) {
      return 0;
    }
    for (const int index : passage->links) {
      ends.insert(link(index).to);
    }
  }
  std::vector<Time> after = {0};  // by size of the message
  for (int size = 1; size <= server.max && static_cast<std::size_t>(size) <= passages.size(); ++size) {
    Time min = kNever;
    for (const int end : ends) {
      min = std::min(min, spreadTogether(end, static_cast<std::size_t>(size)));
    }
    after.push_back(std::max(tail, min));
  }
  std::sort(ready.begin(), ready.end());
  // From the end: by how many chunks are left, the latest time at which their messages may begin.
  const auto canKeep = [&](Time limit) {
    std::vector<Time> latest(ready.size() + 1, -1);
    latest[0] = limit;
    for (std::size_t left = 1; left <= ready.size(); ++left) {
      for (std::size_t size = 1; size < after.size() && size <= left; ++size) {
        const Time length = server.alpha + server.beta * static_cast<Time>(size);
        const Time begin = std::min(latest[left - size], limit - after[size]) - length;
        // The chunks that are there last go last.
        if (begin >= ready[ready.size() - left + size - 1]) {
          latest[left] = std::max(latest[left], begin);
        }
      }
    }
    return latest.back() >= 0;
  };
  Time low = 0;
  Time high = ready.back() + (server.alpha + server.beta + after.back()) * static_cast<Time>(ready.size());
  while (low < high) {
    const Time middle = low + (high - low) / 2;
    if (canKeep(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

Time BoundProof::spreadTogether(int from, std::size_t n) const {
  Time best = 0;
  std::map<int, TimedServer> out;
  for (const int index : linksOf(from, false)) {
    widen(out[portOf(index, false)], 0, cost(index));
  }
  for (int gpu = from - from % m_model.gpusPerNode; gpu < from - from % m_model.gpusPerNode + m_model.gpusPerNode;
       ++gpu) {
    if (gpu == from) {
      continue;
    }
    std::map<int, TimedServer> in;
    for (const int index : linksOf(gpu, true)) {
      widen(in[portOf(index, true)], m_time[from][link(index).from], cost(index));
    }
    best = std::max({best, firstTimes(in, n, false).back(), firstTimes(out, n, true).back() + m_time[from][gpu]});
  }
  return best;
}

Time BoundProof::evenly(std::vector<Time> heads, const Server& server, std::size_t machines) {
  std::sort(heads.begin(), heads.end(), std::greater<>());
  Time best = 0;
  for (std::size_t n = 1; n <= heads.size(); ++n) {
    const auto share = static_cast<Time>((n + machines - 1) / machines);
    const Time batches = (share + server.max - 1) / server.max;
    best = std::max(best, heads[n - 1] + batches * server.alpha + share * server.beta);
  }
  return best;
}

Time BoundProof::passBy(const std::function<int(int)>& machineOf) {
  std::map<std::vector<int>, std::vector<const Passage*>> bySet;
  for (const Passage& passage : m_passages) {
    std::set<int> machines;
    for (const int index : passage.links) {
      machines.insert(machineOf(index));
    }
    bySet[{machines.begin(), machines.end()}].push_back(&passage);
  }
  Time best = 0;
  for (const auto& [machines, own] : bySet) {
    throwIfCancelled(m_progress);
    std::vector<const Passage*> all;
    for (const auto& [others, passages] : bySet) {
      if (!others.empty() && std::includes(machines.begin(), machines.end(), others.begin(), others.end())) {
        all.insert(all.end(), passages.begin(), passages.end());
      }
    }
    if (!all.empty()) {
      best = std::max(best, passTime(all, machines.size()));
    }
  }
  return best;
}

Time BoundProof::nodeLinks() {
  return passBy([](int index) { return index; });
}

Time BoundProof::sendingPorts() {
  return passBy([this](int index) { return portOf(index, false); });
}

}  // namespace coppice::verify::plan_bounds
