// SPDX-License-Identifier: Apache-2.0
#include "simulate/routes.hpp"

#include <algorithm>
#include <map>

namespace coppice::simulate {

using fabric::NodeIndex;

ShortestRoutes::ShortestRoutes(const fabric::Fabric& fabric)
    : m_fabric(fabric),
      m_firstOut(rowStarts(fabric.nodeCount(), fabric.arcs(), &fabric::Arc::tail)),
      m_in(numbersByRow(fabric.nodeCount(), fabric.arcs(), &fabric::Arc::head)) {
  constexpr std::int64_t kMaxKept = 1 << 22;  // distances
  const auto gpus = static_cast<std::size_t>(fabric.gpuCount());
  m_sources.resize(std::int64_t{fabric.gpuCount()} * fabric.nodeCount() <= kMaxKept ? gpus : 1);
}

std::vector<int> ShortestRoutes::search(fabric::Rank from, bool overGpus) {
  std::vector<int> distance(static_cast<std::size_t>(m_fabric.nodeCount()), -1);
  std::vector<NodeIndex> queue{m_fabric.gpus()[from]};
  distance[queue.front()] = 0;
  // NOLINTNEXTLINE(modernize-loop-convert): the queue grows under the loop
  for (std::size_t done = 0; done < queue.size(); ++done) {
    const NodeIndex node = queue[done];
    if (done > 0 && !overGpus && m_fabric.nodes()[node].kind == fabric::NodeKind::gpu) {
      continue;
    }
    for (std::int32_t arc = m_firstOut[node]; arc < m_firstOut[node + 1]; ++arc) {
      const NodeIndex head = m_fabric.arcs()[arc].head;
      if (distance[head] < 0) {
        distance[head] = distance[node] + 1;
        queue.push_back(head);
      }
    }
  }
  m_searched += m_fabric.arcs().size();
  return distance;
}

ShortestRoutes::Distances ShortestRoutes::distances(fabric::Rank from, fabric::Rank to) {
  Source& source = m_sources[m_sources.size() > 1 ? static_cast<std::size_t>(from) : 0];
  if (source.rank != from) {
    source = {from, search(from, false), {}};
  }
  if (source.distance[m_fabric.gpus()[to]] >= 0) {
    return {source.distance, false};
  }
  ++m_throughGpus;
  if (source.overGpus.empty()) {
    source.overGpus = search(from, true);
  }
  return {source.overGpus, true};
}

const std::vector<std::int32_t>& ShortestRoutes::choicesInto(NodeIndex node, const Distances& from) {
  const auto& [distance, overGpus] = from;
  m_choices.clear();
  for (const std::int32_t arc : m_in[node]) {
    const fabric::Arc& link = m_fabric.arcs()[arc];
    const bool isRelay =
        overGpus || distance[link.tail] == 0 || m_fabric.nodes()[link.tail].kind != fabric::NodeKind::gpu;
    if (!isRelay || distance[link.tail] != distance[node] - 1) {
      continue;
    }
    if (!m_choices.empty() && m_fabric.arcs()[m_choices.front()].bandwidth < link.bandwidth) {
      m_choices.clear();
    }
    if (m_choices.empty() || m_fabric.arcs()[m_choices.front()].bandwidth == link.bandwidth) {
      m_choices.push_back(arc);
    }
  }
  return m_choices;
}

const std::vector<NodeIndex>& ShortestRoutes::find(fabric::Rank from, fabric::Rank to, int channel) {
  const Distances distance = distances(from, to);
  NodeIndex node = m_fabric.gpus()[to];
  m_path.assign(1, node);
  const std::size_t turn =
      static_cast<std::size_t>(from) + static_cast<std::size_t>(to) + static_cast<std::size_t>(channel);
  while (distance.byNode[node] > 0) {
    const std::vector<std::int32_t>& choices = choicesInto(node, distance);
    node = m_fabric.arcs()[choices[turn % choices.size()]].tail;
    m_path.push_back(node);
  }
  std::reverse(m_path.begin(), m_path.end());
  return m_path;
}

std::vector<std::pair<std::int32_t, Rational>> ShortestRoutes::shares(fabric::Rank from, fabric::Rank to) {
  const Distances distance = distances(from, to);
  std::vector<std::pair<std::int32_t, Rational>> passed;
  std::map<NodeIndex, Rational> level{{m_fabric.gpus()[to], Rational(1)}};
  while (distance.byNode[level.begin()->first] > 0) {
    std::map<NodeIndex, Rational> next;
    for (const auto& [node, part] : level) {
      const std::vector<std::int32_t>& choices = choicesInto(node, distance);
      const Rational each = part / Rational(static_cast<std::int64_t>(choices.size()));
      for (const std::int32_t arc : choices) {
        passed.emplace_back(arc, each);
        next[m_fabric.arcs()[arc].tail] += each;
      }
    }
    level = std::move(next);
  }
  std::sort(passed.begin(), passed.end());
  return passed;
}

}  // namespace coppice::simulate
