// SPDX-License-Identifier: Apache-2.0
#include "live/local_flow.hpp"

#include <algorithm>
#include <limits>

namespace coppice::live {
template <typename Cap>
void LocalFlow<Cap>::touch(int arc) {
  const auto pair = static_cast<std::size_t>(arc / 2);
  if (m_pairStamp[pair] != m_flowNow) {
    m_pairStamp[pair] = m_flowNow;
    m_residual[2 * pair] = scaled(static_cast<int>(2 * pair));
    m_residual[2 * pair + 1] = scaled(static_cast<int>(2 * pair + 1));
    m_touched.push_back(static_cast<int>(pair));
  }
}

template <typename Cap>
Cap& LocalFlow<Cap>::left(int node) {
  if (m_nodeStamp[node] != m_flowNow) {
    m_nodeStamp[node] = m_flowNow;
    m_left[node] = Cap{m_sources.demand[node]} * m_supplyScale;
  }
  return m_left[node];
}

template <typename Cap>
Cap LocalFlow<Cap>::into(const CutGraph& graph, const Sources& sources, int sink, Cap scale, Cap fineScale,
                         Cap supplyScale, Cap wanted) {
  m_graph = &graph;
  m_sources = sources;
  m_sink = sink;
  m_scale = scale;
  m_fineScale = fineScale;
  m_supplyScale = supplyScale;
  m_pairStamp.resize(graph.arcCount() / 2, 0);
  m_residual.resize(graph.arcCount());
  m_nodeStamp.resize(graph.nodeCount(), 0);
  m_left.resize(graph.nodeCount());
  m_blocking.reserveNodes(graph.nodeCount());
  m_touched.clear();
  if (++m_flowNow == std::numeric_limits<std::uint32_t>::max()) {
    std::fill(m_pairStamp.begin(), m_pairStamp.end(), 0U);
    std::fill(m_nodeStamp.begin(), m_nodeStamp.end(), 0U);
    m_flowNow = 1;
  }

  Cap& own = left(sink);
  const Cap flow = std::min(own, wanted);
  own -= flow;
  return flow + m_blocking.run(Network(*this), sink, wanted - flow);
}

template <typename Cap>
std::vector<int> LocalFlow<Cap>::reaching() {
  m_blocking.beginSearch();
  m_blocking.mark(m_sink);
  std::vector<int> nodes(1, m_sink);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const Half half : m_graph->into(nodes[i])) {
      if (!m_blocking.isMarked(half.node) && isOpen(half.arc)) {
        m_blocking.mark(half.node);
        nodes.push_back(half.node);
      }
    }
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

template class LocalFlow<std::int64_t>;
template class LocalFlow<Int128>;

}  // namespace coppice::live
