// SPDX-License-Identifier: Apache-2.0
#include "alltoall/network.hpp"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "base/failure.hpp"

namespace coppice::alltoall {

using fabric::NodeIndex;
using std::int64_t;

namespace {

[[noreturn]] void refuse(const Network& network, NodeIndex from, NodeIndex to) {
  const auto& nodes = network.fabric.nodes();
  throw Failure({ErrorCode::badUsage,
                 "\"" + nodes[from].id + "\" reaches \"" + nodes[to].id + "\" only through other GPUs",
                 "let GPUs pass data on"});
}

}  // namespace

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
      refuse(m_network, m_source, gpu);
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

std::optional<SharedPaths> SharedPaths::from(const Network& network, std::span<const NodeIndex> sources) {
  constexpr std::size_t kGpusOfRelay = 4;
  SharedPaths shared(network);
  shared.m_relayAt.assign(network.nodeCount(), -1);
  for (const NodeIndex source : sources) {
    for (auto arc = network.firstOut[source]; arc < network.firstOut[source + 1]; ++arc) {
      const NodeIndex head = network.fabric.arcs()[arc].head;
      if (network.fabric.nodes()[head].kind == fabric::NodeKind::gpu) {
        return std::nullopt;
      }
      if (shared.m_relayAt[head] < 0) {
        shared.m_relayAt[head] = static_cast<int>(shared.m_relays.size());
        shared.m_relays.emplace_back().relay = head;
      }
    }
  }
  return shared.m_relays.size() * kGpusOfRelay <= sources.size() ? std::optional(std::move(shared)) : std::nullopt;
}

void SharedPaths::run(std::span<const int64_t> lengths, std::span<const double> second) {
  m_lengths.assign(lengths.begin(), lengths.end());
  m_seconds.assign(second.begin(), second.end());
  m_load.assign(lengths.size(), 0);
  for (FromRelay& from : m_relays) {
    m_paths.run(from.relay, lengths, second);
    from.distance = m_paths.distance();
    from.second = m_paths.second();
    from.arcInto = m_paths.arcInto();
    from.order = m_paths.order();
    from.behind.assign(from.arcInto.size(), 0);
  }
}

Int128 SharedPaths::add(NodeIndex source, int64_t weight) {
  const auto gpus = m_network.fabric.gpus();
  m_source = source;
  m_firstArc.assign(gpus.size(), -1);
  Int128 sum = 0;
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    const NodeIndex gpu = gpus[rank];
    if (gpu == source) {
      continue;
    }
    std::pair<Int128, double> least;
    for (auto arc = m_network.firstOut[source]; arc < m_network.firstOut[source + 1]; ++arc) {
      const FromRelay& from = m_relays[m_relayAt[m_network.fabric.arcs()[arc].head]];
      if (from.arcInto[gpu] < 0) {
        continue;
      }
      const std::pair length(from.distance[gpu] + m_lengths[arc], from.second[gpu] + m_seconds[arc]);
      if (m_firstArc[rank] < 0 || length < least) {
        least = length;
        m_firstArc[rank] = arc;
      }
    }
    const int64_t amount = m_network.amount(source, gpu);
    if (amount > 0 && m_firstArc[rank] < 0) {
      refuse(m_network, source, gpu);
    }
    if (amount > 0) {
      sum = checkedAdd(sum, checkedMul<Int128>(least.first, amount));
      const double load = static_cast<double>(amount) * static_cast<double>(weight);
      m_load[m_firstArc[rank]] += load;
      m_relays[m_relayAt[m_network.fabric.arcs()[m_firstArc[rank]].head]].behind[gpu] += load;
    }
  }
  return sum;
}

std::vector<std::int32_t> SharedPaths::tree() const {
  std::vector<std::int32_t> arcInto(m_network.nodeCount(), -1);
  for (std::size_t rank = 0; rank < m_firstArc.size(); ++rank) {
    if (m_firstArc[rank] < 0) {
      continue;
    }
    const FromRelay& from = m_relays[m_relayAt[m_network.fabric.arcs()[m_firstArc[rank]].head]];
    // What another path has set leads to the source as well.
    NodeIndex node = m_network.fabric.gpus()[rank];
    while (node != from.relay && node != m_source && arcInto[node] < 0) {
      arcInto[node] = from.arcInto[node];
      node = m_network.fabric.arcs()[arcInto[node]].tail;
    }
    if (node == from.relay && arcInto[node] < 0) {
      arcInto[node] = m_firstArc[rank];
    }
  }
  return arcInto;
}

std::vector<double> SharedPaths::takeLoads() {
  for (FromRelay& from : m_relays) {
    for (std::size_t i = from.order.size(); i-- > 1;) {
      const NodeIndex node = from.order[i];
      m_load[from.arcInto[node]] += from.behind[node];
      from.behind[m_network.fabric.arcs()[from.arcInto[node]].tail] += from.behind[node];
    }
  }
  return std::move(m_load);
}

std::size_t SharedPaths::work(std::size_t sources) const {
  constexpr std::size_t kPerArc = 40;
  constexpr std::size_t kPerNode = 200;
  constexpr std::size_t kPerPair = 20;
  const auto nodes = static_cast<std::size_t>(m_network.nodeCount());
  return m_relays.size() * (kPerArc * m_network.capacity.size() + kPerNode * nodes) +
         sources * m_network.fabric.gpus().size() * kPerPair;
}

}  // namespace coppice::alltoall
