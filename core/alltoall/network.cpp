// SPDX-License-Identifier: Apache-2.0
#include "alltoall/network.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

#include "base/failure.hpp"

namespace coppice::alltoall {

using fabric::NodeIndex;
using std::int64_t;

Network::Network(const fabric::Fabric& of, const schedule::ExchangeDemand& exchanged)
    : fabric(of),
      demand(exchanged),
      unit(commonUnit(of.arcs(), &fabric::Arc::bandwidth)),
      firstOut(rowStarts(of.nodeCount(), of.arcs(), &fabric::Arc::tail)),
      in(numbersByRow(of.nodeCount(), of.arcs(), &fabric::Arc::head)) {
  for (const fabric::Arc& arc : fabric.arcs()) {
    capacity.push_back((arc.bandwidth / unit).numerator());
  }
}

ShortestPaths::ShortestPaths(const Network& network)
    : m_network(network),
      m_distance(network.nodeCount()),
      m_second(network.nodeCount()),
      m_arcInto(network.nodeCount()),
      m_isDone(network.nodeCount()),
      m_behind(network.nodeCount()) {}

void ShortestPaths::run(NodeIndex source, std::span<const int64_t> lengths, std::span<const double> second) {
  using Entry = std::tuple<Int128, double, NodeIndex>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::fill(m_arcInto.begin(), m_arcInto.end(), -1);
  std::fill(m_isDone.begin(), m_isDone.end(), 0);
  std::vector<char> isSeen(m_isDone.size(), 0);
  m_order.clear();
  m_source = source;
  m_distance[source] = 0;
  m_second[source] = 0;
  isSeen[source] = 1;
  queue.emplace(0, 0, source);
  while (!queue.empty()) {
    const NodeIndex node = std::get<2>(queue.top());
    queue.pop();
    if (m_isDone[node] != 0) {
      continue;
    }
    m_isDone[node] = 1;
    m_order.push_back(node);
    const bool isGpu = m_network.fabric.nodes()[node].kind == fabric::NodeKind::gpu;
    if (isGpu && node != source && !m_network.demand.relays) {
      continue;
    }
    for (auto arc = m_network.firstOut[node]; arc < m_network.firstOut[node + 1]; ++arc) {
      const NodeIndex head = m_network.fabric.arcs()[arc].head;
      const Int128 distance = m_distance[node] + lengths[arc];
      const double also = m_second[node] + second[arc];
      if (m_isDone[head] == 0 && (isSeen[head] == 0 || distance < m_distance[head] ||
                                  (distance == m_distance[head] && also < m_second[head]))) {
        isSeen[head] = 1;
        m_distance[head] = distance;
        m_second[head] = also;
        m_arcInto[head] = arc;
        queue.emplace(distance, also, head);
      }
    }
  }
}

Int128 ShortestPaths::gpuDistances() const {
  Int128 sum = 0;
  for (const NodeIndex gpu : m_network.fabric.gpus()) {
    const int64_t amount = m_network.amount(m_source, gpu);
    if (amount > 0 && m_isDone[gpu] == 0) {
      const auto& nodes = m_network.fabric.nodes();
      throw Failure({ErrorCode::badUsage,
                     "\"" + nodes[m_source].id + "\" reaches \"" + nodes[gpu].id + "\" only through other GPUs",
                     "let GPUs pass data on"});
    }
    if (amount > 0) {
      sum = checkedAdd(sum, checkedMul<Int128>(m_distance[gpu], amount));
    }
  }
  return sum;
}

void ShortestPaths::countUses(std::vector<int64_t>& uses) {
  for (const NodeIndex node : m_order) {
    m_behind[node] = m_network.amount(m_source, node);
  }
  for (std::size_t i = m_order.size(); i-- > 1;) {
    const NodeIndex node = m_order[i];
    const std::int32_t arc = m_arcInto[node];
    uses[arc] = checkedAdd(uses[arc], m_behind[node]);
    int64_t& before = m_behind[m_network.fabric.arcs()[arc].tail];
    before = checkedAdd(before, m_behind[node]);
  }
}

}  // namespace coppice::alltoall
