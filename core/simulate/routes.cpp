// SPDX-License-Identifier: Apache-2.0
#include "simulate/routes.hpp"

#include <algorithm>

namespace coppice::simulate {

using fabric::NodeIndex;

ShortestRoutes::ShortestRoutes(const fabric::Fabric& fabric)
    : m_fabric(fabric),
      m_firstOut(rowStarts(fabric.nodeCount(), fabric.arcs(), &fabric::Arc::tail)),
      m_in(numbersByRow(fabric.nodeCount(), fabric.arcs(), &fabric::Arc::head)) {}

void ShortestRoutes::search(fabric::Rank from, bool overGpus) {
  std::vector<int>& distance = overGpus ? m_overGpus : m_distance;
  distance.assign(m_fabric.nodeCount(), -1);
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
}

const std::vector<NodeIndex>& ShortestRoutes::find(fabric::Rank from, fabric::Rank to, int channel) {
  if (m_source != from) {
    m_source = from;
    m_overGpus.clear();
    search(from, false);
  }
  NodeIndex node = m_fabric.gpus()[to];
  const bool overGpus = m_distance[node] < 0;
  if (overGpus) {
    ++m_throughGpus;
    if (m_overGpus.empty()) {
      search(from, true);
    }
  }
  const std::vector<int>& distance = overGpus ? m_overGpus : m_distance;
  m_path.assign(1, node);
  std::vector<std::int32_t> choices;
  while (distance[node] > 0) {
    choices.clear();
    for (const std::int32_t arc : m_in[node]) {
      const fabric::Arc& link = m_fabric.arcs()[arc];
      const bool isRelay =
          overGpus || distance[link.tail] == 0 || m_fabric.nodes()[link.tail].kind != fabric::NodeKind::gpu;
      if (!isRelay || distance[link.tail] != distance[node] - 1) {
        continue;
      }
      if (!choices.empty() && m_fabric.arcs()[choices.front()].bandwidth < link.bandwidth) {
        choices.clear();
      }
      if (choices.empty() || m_fabric.arcs()[choices.front()].bandwidth == link.bandwidth) {
        choices.push_back(arc);
      }
    }
    const std::size_t turn =
        static_cast<std::size_t>(from) + static_cast<std::size_t>(to) + static_cast<std::size_t>(channel);
    node = m_fabric.arcs()[choices[turn % choices.size()]].tail;
    m_path.push_back(node);
  }
  std::reverse(m_path.begin(), m_path.end());
  return m_path;
}

}  // namespace coppice::simulate
