// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/in_network/hub_parts.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <queue>

namespace coppice::forestcoll {

int PartProblem::add(int node, bool isReached, bool branches) {
  if (isReached) {
    graph.gpus.push_back(graph.nodeCount);
  }
  mayBranch.push_back(branches);
  nodeAt.push_back(node);
  return graph.nodeCount++;
}

void PartProblem::sortArcs() {
  std::sort(graph.arcs.begin(), graph.arcs.end(), [](const lp::RateArc& a, const lp::RateArc& b) {
    return std::pair(a.tail, a.head) < std::pair(b.tail, b.head);
  });
}

Rational PartProblem::bandwidthPerTerminal() const {
  Rational sum;
  for (const lp::RateArc& arc : graph.arcs) {
    sum += arc.bandwidth.gigabytesPerSecond();
  }
  return sum / Rational(static_cast<std::int64_t>(graph.gpus.size()));
}

PartProblem::Key PartProblem::key() const {
  Key key{graph.gpus, mayBranch, {}};
  for (const lp::RateArc& arc : graph.arcs) {
    std::get<2>(key).emplace_back(arc.tail, arc.head, arc.bandwidth.gigabytesPerSecond());
  }
  return key;
}

HubParts::HubParts(const TreeGraph& graph, const std::vector<bool>& mayBranch)
    : m_graph(graph), m_mayBranch(mayBranch) {
  m_isGpu.assign(static_cast<std::size_t>(graph.nodeCount), false);
  for (const int gpu : graph.gpus) {
    m_isGpu[gpu] = true;
  }
  m_neighbours.resize(static_cast<std::size_t>(graph.nodeCount));
  for (const lp::RateArc& arc : graph.arcs) {
    if (arc.bandwidth.isPositive()) {
      m_neighbours[arc.tail].push_back(arc.head);
    }
  }
}

std::vector<int> HubParts::hubs() const {
  std::vector<int> found;
  for (int node = 0; node < m_graph.nodeCount; ++node) {
    if (m_mayBranch[node] && m_graph.boxOf[node].empty()) {
      found.push_back(node);
    }
  }
  return found;
}

std::vector<int> HubParts::withoutLowest(const std::vector<int>& hubs) const {
  std::vector<int> hops(m_neighbours.size(), -1);
  std::queue<int> open;
  for (const int gpu : m_graph.gpus) {
    hops[gpu] = 0;
    open.push(gpu);
  }
  while (!open.empty()) {
    const int at = open.front();
    open.pop();
    for (const int next : m_neighbours[at]) {
      if (hops[next] < 0) {
        hops[next] = hops[at] + 1;
        open.push(next);
      }
    }
  }
  int least = std::numeric_limits<int>::max();
  for (const int hub : hubs) {
    least = hops[hub] < 0 ? least : std::min(least, hops[hub]);
  }
  std::vector<int> higher;
  for (const int hub : hubs) {
    if (hops[hub] > least) {
      higher.push_back(hub);
    }
  }
  return higher;
}

HubSplit HubParts::splitBy(const std::vector<int>& hubs) const {
  HubSplit split{.hubs = hubs, .parts = {}, .partOf = std::vector<int>(m_neighbours.size(), -1), .arcs = {}};
  std::vector<bool> isHub(m_neighbours.size(), false);
  for (const int hub : hubs) {
    isHub[hub] = true;
  }
  for (const int gpu : m_graph.gpus) {
    if (split.partOf[gpu] >= 0) {
      continue;
    }
    const auto part = static_cast<int>(split.parts.size());
    std::vector<int> nodes{gpu};
    split.partOf[gpu] = part;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const int next : m_neighbours[nodes[i]]) {
        if (!isHub[next] && split.partOf[next] < 0) {
          split.partOf[next] = part;
          nodes.push_back(next);
        }
      }
    }
    std::sort(nodes.begin(), nodes.end());
    split.parts.push_back(std::move(nodes));
  }
  split.arcs.resize(split.parts.size());
  for (std::size_t arc = 0; arc < m_graph.arcs.size(); ++arc) {
    const int part = std::max(split.partOf[m_graph.arcs[arc].tail], split.partOf[m_graph.arcs[arc].head]);
    if (part >= 0) {
      split.arcs[part].push_back(static_cast<int>(arc));
    }
  }
  return split;
}

std::vector<Rational> HubParts::sharesOf(const HubSplit& split) const {
  std::map<int, std::size_t> numberOf;
  for (std::size_t i = 0; i < split.hubs.size(); ++i) {
    numberOf[split.hubs[i]] = i;
  }
  std::vector<Rational> widths(split.hubs.size());
  std::vector<std::vector<bool>> reaches(split.hubs.size(), std::vector<bool>(split.parts.size(), false));
  for (const lp::RateArc& arc : m_graph.arcs) {
    const auto hub = numberOf.find(arc.head);
    if (hub != numberOf.end() && split.partOf[arc.tail] >= 0 && arc.bandwidth.isPositive()) {
      widths[hub->second] += arc.bandwidth.gigabytesPerSecond();
      reaches[hub->second][split.partOf[arc.tail]] = true;
    }
  }
  Rational sum;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (std::find(reaches[i].begin(), reaches[i].end(), false) != reaches[i].end()) {
      widths[i] = Rational(0);
    }
    sum += widths[i];
  }
  for (Rational& width : widths) {
    width = sum.isZero() ? Rational(0) : width / sum;
  }
  return widths;
}

std::vector<int> HubParts::hubsOf(const HubSplit& split, int part) const {
  std::vector<int> hubs;
  for (const int number : split.arcs[part]) {
    const lp::RateArc& arc = m_graph.arcs[number];
    if (arc.bandwidth.isPositive() && split.partOf[arc.head] != part) {
      hubs.push_back(arc.head);
    }
  }
  std::sort(hubs.begin(), hubs.end());
  hubs.erase(std::unique(hubs.begin(), hubs.end()), hubs.end());
  return hubs;
}

PartProblem HubParts::oneHubProblem(const HubSplit& split, int part, int hub, const Rational& share) const {
  const std::vector<int>& nodes = split.parts[part];
  const auto count = static_cast<int>(nodes.size());
  PartProblem problem = emptyProblem(nodes);
  problem.add(hub, true, false);
  const auto numberOf = [&](int node) {
    return node == hub ? count : static_cast<int>(std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin());
  };
  for (const int number : split.arcs[part]) {
    const lp::RateArc& arc = m_graph.arcs[number];
    const bool isInside = split.partOf[arc.tail] == part && split.partOf[arc.head] == part;
    const bool isOfHub =
        (arc.head == hub && split.partOf[arc.tail] == part) || (arc.tail == hub && split.partOf[arc.head] == part);
    if (arc.bandwidth.isPositive() && (isInside || isOfHub)) {
      problem.graph.arcs.push_back(
          {numberOf(arc.tail), numberOf(arc.head), isInside ? arc.bandwidth * share : arc.bandwidth});
    }
  }
  problem.sortArcs();
  return problem;
}

PartProblem HubParts::joiningProblem(const HubSplit& split, int part, const std::vector<int>& hubs) const {
  const std::vector<int>& nodes = split.parts[part];
  PartProblem problem = emptyProblem(nodes);
  for (const int hub : hubs) {
    problem.add(hub, true, false);
  }
  const auto numberOf = [&](int node) {
    return static_cast<int>(split.partOf[node] == part
                                ? std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin()
                                : std::lower_bound(hubs.begin(), hubs.end(), node) - hubs.begin() +
                                      static_cast<std::ptrdiff_t>(nodes.size()));
  };
  for (const int number : split.arcs[part]) {
    const lp::RateArc& arc = m_graph.arcs[number];
    if (arc.bandwidth.isPositive()) {
      problem.graph.arcs.push_back({numberOf(arc.tail), numberOf(arc.head), arc.bandwidth});
    }
  }
  problem.sortArcs();
  return problem;
}

PartProblem HubParts::mergedProblem(const HubSplit& split, int part, const LinkLoads& loads) const {
  const std::vector<int>& nodes = split.parts[part];
  PartProblem problem = emptyProblem(nodes);
  const auto merged = static_cast<int>(nodes.size());
  problem.add(-1, true, false);
  const auto numberOf = [&](int node) {
    return static_cast<int>(std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin());
  };
  for (const int number : split.arcs[part]) {
    const lp::RateArc& arc = m_graph.arcs[number];
    const auto load = loads.find(std::minmax(arc.tail, arc.head));
    const Bandwidth left =
        load == loads.end() ? arc.bandwidth : Bandwidth(arc.bandwidth.gigabytesPerSecond() - load->second);
    const bool isInside = split.partOf[arc.tail] == part && split.partOf[arc.head] == part;
    const int relay = !isInside && split.partOf[arc.tail] == part ? problem.add(arc.head, false, false) : -1;
    if (!left.isPositive()) {
      continue;
    }
    if (isInside) {
      problem.graph.arcs.push_back({numberOf(arc.tail), numberOf(arc.head), left});
    } else if (relay >= 0) {
      for (const auto& [tail, head] : {std::pair(numberOf(arc.tail), relay), {relay, merged}}) {
        problem.graph.arcs.push_back({tail, head, left});
        problem.graph.arcs.push_back({head, tail, left});
      }
    }
  }
  problem.sortArcs();
  return problem;
}

PartProblem HubParts::emptyProblem(const std::vector<int>& nodes) const {
  PartProblem problem;
  for (const int node : nodes) {
    problem.add(node, m_isGpu[node], m_mayBranch[node]);
  }
  return problem;
}

}  // namespace coppice::forestcoll
