// SPDX-License-Identifier: Apache-2.0
#include "verify/plan_bounds/proof.hpp"

#include <iterator>

namespace coppice::verify::plan_bounds {

BoundProof::BoundProof(const Model& model, const std::vector<Chunk>& chunks, bool isReduction,
                       const std::vector<std::int64_t>& weights, const Progress& progress)
    : m_model(model), m_chunks(chunks), m_isReduction(isReduction), m_weights(weights), m_progress(progress) {
  std::int64_t scale = 1;
  for (const Link& link : model.links) {
    scale = leastCommonMultiple(scale, link.alpha.denominator());
    scale = leastCommonMultiple(scale, link.beta.denominator());
  }
  m_scale = scale;
  Time sum = 1;
  for (const Link& link : model.links) {
    m_alpha.push_back((link.alpha * Rational(scale)).numerator());
    m_beta.push_back((link.beta * Rational(scale)).numerator());
    sum = checkedAdd(sum, checkedAdd(m_alpha.back(), m_beta.back()));
  }
  static_cast<void>(checkedMul<Time>(checkedMul<Time>(sum, static_cast<Time>(chunks.size()) + 1), 64));
  m_from.resize(model.gpus());
  m_to.resize(m_from.size());
  for (std::size_t i = 0; i < model.links.size(); ++i) {
    m_from[model.links[i].from].push_back(static_cast<int>(i));
    m_to[model.links[i].to].push_back(static_cast<int>(i));
  }
  measure();
  findPassages();
}

Rational BoundProof::prove(const std::string& name) {
  static const std::map<std::string, Time (BoundProof::*)()> kKinds = {
      {"path", &BoundProof::path},
      {"links between nodes", &BoundProof::nodeLinks},
      {"ports to other nodes", &BoundProof::sendingPorts},
      {"receiver", &BoundProof::receivers},
      {"cut of a node", &BoundProof::cuts},
      {"forwarding", &BoundProof::forwarding},
      {"flow", &BoundProof::flow}};
  const auto kind = kKinds.find(name);
  return kind == kKinds.end() ? Rational(0) : Rational((this->*kind->second)(), m_scale);
}

void BoundProof::measure() {
  const auto gpus = static_cast<std::size_t>(m_model.gpus());
  m_time.assign(gpus, std::vector<Time>(gpus, kNever));
  m_hops.assign(gpus, std::vector<int>(gpus, kFar));
  for (int start = 0; start < m_model.gpus(); ++start) {
    throwIfCancelled(m_progress);
    std::vector<Time>& time = m_time[start];
    std::set<std::pair<Time, int>> queue = {{0, start}};
    time[start] = 0;
    while (!queue.empty()) {
      const int gpu = queue.begin()->second;
      queue.erase(queue.begin());
      for (const int index : linksFrom(gpu)) {
        const int to = link(index).to;
        if (!link(index).isRemote && time[gpu] + cost(index) < time[to]) {
          queue.erase({time[to], to});
          time[to] = time[gpu] + cost(index);
          queue.emplace(time[to], to);
        }
      }
    }
    std::vector<int>& hops = m_hops[start];
    std::vector<int> line = {start};
    hops[start] = 0;
    for (std::size_t at = 0; at < line.size(); ++at) {
      for (const int index : linksFrom(line[at])) {
        if (hops[link(index).to] == kFar) {
          hops[link(index).to] = hops[line[at]] + 1;
          line.push_back(link(index).to);
        }
      }
    }
  }
}

int BoundProof::portOf(int index, bool isIn) const {
  const Link& each = link(index);
  const int gpu = isIn ? each.to : each.from;
  const int perGpu = static_cast<int>(m_model.switches.size()) + 1;
  if (each.isRemote && !m_model.nics.empty()) {
    return m_model.gpus() * perGpu + nodeOf(gpu) * m_model.gpusPerNode + m_model.nics[gpu % m_model.gpusPerNode];
  }
  if (each.isRemote) {
    return m_model.nodes > 2 ? gpu * perGpu + perGpu - 1 : -1 - index;
  }
  int lane = each.lane;
  for (std::size_t i = 0; i < m_model.switches.size(); ++i) {
    const std::vector<int>& members = m_model.switches[i];
    const auto joins = [&](int end) {
      return std::find(members.begin(), members.end(), end % m_model.gpusPerNode) != members.end();
    };
    if (joins(each.from) && joins(each.to) && lane-- == 0) {
      return gpu * perGpu + static_cast<int>(i);
    }
  }
  return -1 - index;
}

std::vector<Time> BoundProof::serversOf(const std::vector<int>& links, bool isIn) const {
  std::map<int, Time> byPort;
  for (const int index : links) {
    const auto [at, isNew] = byPort.emplace(portOf(index, isIn), m_beta[index]);
    at->second = std::min(at->second, m_beta[index]);
  }
  std::vector<Time> servers;
  for (const auto& [port, time] : byPort) {
    servers.push_back(time);
  }
  return servers;
}

std::vector<int> BoundProof::linksOf(int gpu, bool isIn) const {
  std::vector<int> links;
  std::copy_if((isIn ? m_to : m_from)[gpu].begin(), (isIn ? m_to : m_from)[gpu].end(), std::back_inserter(links),
               [&](int index) { return !link(index).isRemote; });
  return links;
}

void BoundProof::widen(TimedServer& server, Time begin, Time each) {
  server.begin = std::min(server.begin, begin);
  server.each = std::min(server.each, each);
}

std::vector<Time> BoundProof::firstTimes(const std::map<int, TimedServer>& servers, std::size_t n, bool isBegun) {
  std::vector<Time> times;
  for (const auto& [port, server] : servers) {
    for (std::size_t i = 0; i < n; ++i) {
      times.push_back(server.begin + server.each * static_cast<Time>(isBegun ? i : i + 1));
    }
  }
  std::sort(times.begin(), times.end());
  times.resize(n, kNever);
  return times;
}

std::vector<int> BoundProof::targetsIn(const Chunk& chunk, int node) const {
  std::vector<int> targets;
  std::copy_if(chunk.targets.begin(), chunk.targets.end(), std::back_inserter(targets),
               [&](int target) { return nodeOf(target) == node; });
  return targets;
}

}  // namespace coppice::verify::plan_bounds
