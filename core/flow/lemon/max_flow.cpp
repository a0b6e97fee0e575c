// SPDX-License-Identifier: Apache-2.0
#include "flow/lemon/max_flow.hpp"

#include <lemon/preflow.h>
#include <lemon/static_graph.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/checked.hpp"

namespace coppice::flow::lemon {

struct MaxFlow::Network {
  using Graph = ::lemon::StaticDigraph;
  using Capacities = Graph::ArcMap<std::int64_t>;
  using Preflow = ::lemon::Preflow<Graph, Capacities>;

  Graph graph;
  std::optional<Capacities> capacities;
  std::optional<Preflow> preflow;
  std::int64_t finiteTotal = 0;
};

MaxFlow::MaxFlow(int nodeCount, const std::vector<Arc>& arcs) : m_network(std::make_unique<Network>()) {
  std::vector<Arc> sorted;
  sorted.reserve(arcs.size());
  std::int64_t infiniteCount = 0;
  for (const Arc& arc : arcs) {
    if (arc.tail < 0 || arc.tail >= nodeCount || arc.head < 0 || arc.head >= nodeCount) {
      throw std::invalid_argument("arc end outside the network");
    }
    if (arc.capacity < 0) {
      throw std::invalid_argument("negative capacity");
    }
    if (arc.tail == arc.head) {
      continue;
    }
    if (arc.capacity == kInfinite) {
      ++infiniteCount;
    } else {
      m_network->finiteTotal = checkedAdd(m_network->finiteTotal, arc.capacity);
    }
    sorted.push_back(arc);
  }
  const std::int64_t unlimited = checkedAdd<std::int64_t>(m_network->finiteTotal, 1);
  // Excesses never exceed the sum of all capacities, so this sum guards every addition inside LEMON.
  (void)checkedAdd(m_network->finiteTotal, checkedMul(infiniteCount, unlimited));

  std::stable_sort(sorted.begin(), sorted.end(), [](const Arc& a, const Arc& b) { return a.tail < b.tail; });
  std::vector<std::pair<int, int>> ends;
  ends.reserve(sorted.size());
  for (const Arc& arc : sorted) {
    ends.emplace_back(arc.tail, arc.head);
  }
  m_network->graph.build(nodeCount, ends.begin(), ends.end());
  m_network->capacities.emplace(m_network->graph);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::int64_t capacity = sorted[i].capacity;
    (*m_network->capacities)[m_network->graph.arc(static_cast<int>(i))] = capacity == kInfinite ? unlimited : capacity;
  }
}

MaxFlow::~MaxFlow() = default;
MaxFlow::MaxFlow(MaxFlow&&) noexcept = default;
MaxFlow& MaxFlow::operator=(MaxFlow&&) noexcept = default;

std::int64_t MaxFlow::run(int source, int sink, std::vector<bool>* sourceSide) {
  Network& network = *m_network;
  const Network::Graph& graph = network.graph;
  const int nodeCount = graph.nodeNum();
  if (source < 0 || source >= nodeCount || sink < 0 || sink >= nodeCount || source == sink) {
    throw std::invalid_argument("source and sink must be two nodes of the network");
  }
  const auto from = Network::Graph::node(source);
  const auto to = Network::Graph::node(sink);
  if (!network.preflow) {
    network.preflow.emplace(graph, *network.capacities, from, to);
  }
  network.preflow->source(from).target(to);
  // The first phase is enough for the value, and no excess is left where the sink can be reached, so the residual
  // network of the preflow shows the cut too.
  network.preflow->runMinCut();
  const std::int64_t value = network.preflow->flowValue();

  if (sourceSide != nullptr) {
    const auto& flow = network.preflow->flowMap();
    sourceSide->assign(static_cast<std::size_t>(nodeCount), true);
    (*sourceSide)[sink] = false;
    std::vector<int> queue{sink};
    const auto reach = [&](Network::Graph::Node node) {
      const auto index = static_cast<std::size_t>(Network::Graph::id(node));
      if ((*sourceSide)[index]) {
        (*sourceSide)[index] = false;
        queue.push_back(static_cast<int>(index));
      }
    };
    // NOLINTNEXTLINE(modernize-loop-convert): the queue grows under the loop
    for (std::size_t at = 0; at < queue.size(); ++at) {
      const auto node = Network::Graph::node(queue[at]);
      for (Network::Graph::InArcIt arc(graph, node); arc != ::lemon::INVALID; ++arc) {
        if (flow[arc] < (*network.capacities)[arc]) {
          reach(graph.source(arc));
        }
      }
      for (Network::Graph::OutArcIt arc(graph, node); arc != ::lemon::INVALID; ++arc) {
        if (flow[arc] > 0) {
          reach(graph.target(arc));
        }
      }
    }
  }
  return value > network.finiteTotal ? kInfinite : value;
}

std::int64_t maxFlow(int nodeCount, const std::vector<Arc>& arcs, int source, int sink, std::vector<bool>* sourceSide) {
  return MaxFlow(nodeCount, arcs).run(source, sink, sourceSide);
}

}  // namespace coppice::flow::lemon
