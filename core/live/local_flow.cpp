// SPDX-License-Identifier: Apache-2.0
#include "live/local_flow.hpp"

#include <algorithm>
#include <limits>

namespace coppice::live {
namespace {

/// The next stamp; a wrap of the counter clears all old ones.
void advance(std::uint32_t& now, std::vector<std::uint32_t>& first, std::vector<std::uint32_t>* second) {
  if (++now == std::numeric_limits<std::uint32_t>::max()) {
    std::fill(first.begin(), first.end(), 0U);
    if (second != nullptr) {
      std::fill(second->begin(), second->end(), 0U);
    }
    now = 1;
  }
}

}  // namespace

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
  m_pairStamp.resize(static_cast<std::size_t>(graph.arcCount() / 2), 0);
  m_residual.resize(static_cast<std::size_t>(graph.arcCount()));
  m_nodeStamp.resize(static_cast<std::size_t>(graph.nodeCount()), 0);
  m_left.resize(static_cast<std::size_t>(graph.nodeCount()));
  m_levelStamp.resize(static_cast<std::size_t>(graph.nodeCount()), 0);
  m_level.resize(static_cast<std::size_t>(graph.nodeCount()));
  m_next.resize(static_cast<std::size_t>(graph.nodeCount()));
  m_touched.clear();
  advance(m_flowNow, m_pairStamp, &m_nodeStamp);

  Cap& own = left(sink);
  Cap flow = std::min(own, wanted);
  own -= flow;
  while (flow < wanted && growLevels(wanted - flow)) {
    flow += blockingFlow(wanted - flow);
  }
  return flow;
}

template <typename Cap>
bool LocalFlow<Cap>::growLevels(Cap need) {
  advance(m_levelNow, m_levelStamp, nullptr);
  m_queue.assign(1, m_sink);
  m_levelStamp[m_sink] = m_levelNow;
  m_level[m_sink] = 0;
  m_next[m_sink] = 0;
  bool found = false;
  Cap seen = 0;
  int stopLevel = -1;
  for (std::size_t i = 0; i < m_queue.size(); ++i) {
    const int node = m_queue[i];
    if (stopLevel >= 0 && m_level[node] >= stopLevel) {
      break;
    }
    for (const Half half : m_graph->into(node)) {
      if (m_levelStamp[half.node] == m_levelNow || !isOpen(half.arc)) {
        continue;
      }
      m_levelStamp[half.node] = m_levelNow;
      m_level[half.node] = m_level[node] + 1;
      m_next[half.node] = 0;
      m_queue.push_back(half.node);
      if (isUnlimitedSource(half.node)) {
        found = true;
        stopLevel = m_level[half.node];
      } else if (m_sources.demand[half.node] > 0 && left(half.node) > 0) {
        found = true;
        seen += left(half.node);
        if (seen >= need && stopLevel < 0) {
          stopLevel = m_level[half.node];
        }
      }
    }
  }
  return found;
}

template <typename Cap>
Cap LocalFlow<Cap>::blockingFlow(Cap need) {
  Cap pushed = 0;
  m_pathNode.assign(1, m_sink);
  m_pathArc.clear();
  while (true) {
    const int node = m_pathNode.back();
    const bool isEndlessHere = isUnlimitedSource(node);
    if (!m_pathArc.empty() && (isEndlessHere || (m_sources.demand[node] > 0 && left(node) > 0))) {
      Cap amount = need - pushed;
      if (!isEndlessHere) {
        amount = std::min(amount, left(node));
      }
      for (const int arc : m_pathArc) {
        amount = std::min(amount, m_residual[arc]);
      }
      std::size_t firstFull = m_pathArc.size();
      for (std::size_t i = m_pathArc.size(); i-- > 0;) {
        const auto arc = static_cast<std::size_t>(m_pathArc[i]);
        m_residual[arc] -= amount;
        m_residual[arc ^ 1U] += amount;
        if (m_residual[arc] == 0) {
          firstFull = i;
        }
      }
      if (!isEndlessHere) {
        left(node) -= amount;
      }
      pushed += amount;
      if (pushed == need) {
        return pushed;
      }
      if (firstFull < m_pathArc.size()) {
        m_pathArc.resize(firstFull);
        m_pathNode.resize(firstFull + 1);
      }
      continue;
    }
    bool advanced = false;
    const std::span<const Half> halves = m_graph->into(node);
    for (int& i = m_next[node]; static_cast<std::size_t>(i) < halves.size(); ++i) {
      const Half half = halves[i];
      if (m_levelStamp[half.node] == m_levelNow && m_level[half.node] == m_level[node] + 1 && isOpen(half.arc)) {
        touch(half.arc);
        m_pathArc.push_back(half.arc);
        m_pathNode.push_back(half.node);
        advanced = true;
        break;
      }
    }
    if (!advanced) {
      if (m_pathArc.empty()) {
        return pushed;
      }
      m_level[node] = -1;
      m_pathArc.pop_back();
      m_pathNode.pop_back();
      ++m_next[m_pathNode.back()];
    }
  }
}

template <typename Cap>
std::vector<int> LocalFlow<Cap>::reaching() {
  advance(m_levelNow, m_levelStamp, nullptr);
  std::vector<int> nodes(1, m_sink);
  m_levelStamp[m_sink] = m_levelNow;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const Half half : m_graph->into(nodes[i])) {
      if (m_levelStamp[half.node] != m_levelNow && isOpen(half.arc)) {
        m_levelStamp[half.node] = m_levelNow;
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
