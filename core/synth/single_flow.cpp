// SPDX-License-Identifier: Apache-2.0
#include "synth/single_flow.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "base/checked.hpp"
#include "flow/max_flow.hpp"

namespace coppice::synth {
namespace {

/// The unrolled fabric: node v before step s is s * fabricNodes + v; switches and NICs of a step keep nothing.
class Unrolled {
public:
  Unrolled(const Problem& problem, std::int64_t n, std::span<const std::int64_t> rounds)
      : m_problem(problem),
        m_topology(problem.topology),
        m_steps(static_cast<int>(rounds.size())),
        m_flow((m_steps + 1) * m_topology.fabricNodes + 2),
        m_rank(m_topology.fabricNodes, -1) {
    for (int rank = 0; rank < m_topology.nodes; ++rank) {
      m_rank[m_topology.gpus[rank]] = rank;
    }
    for (int step = 0; step < m_steps; ++step) {
      for (const PhysicalLink& link : m_topology.links) {
        const int head = m_rank[link.head] >= 0 ? at(link.head, step + 1) : at(link.head, step);
        add(at(link.tail, step), head, (link.perRound * Rational(rounds[step])).floor());
      }
      for (const int gpu : m_topology.gpus) {
        add(at(gpu, step), at(gpu, step + 1), std::int64_t{1} << 60);
      }
    }
    const Requirement& requirement = problem.requirements.front();
    for (const auto& [rank, amount] : requirement.supply) {
      m_flow.addArc(source(), at(m_topology.gpus[rank], 0), checkedMul(amount, n));
    }
    for (const auto& [rank, amount] : requirement.demand) {
      m_flow.addArc(at(m_topology.gpus[rank], m_steps), sink(), checkedMul(amount, n));
      m_target = checkedAdd(m_target, checkedMul(amount, n));
    }
  }

  bool isEnough() { return m_flow.run(source(), sink(), m_target) == m_target; }

  /// The way of one chunk from a rank, as unrolled nodes; it takes its flow away.
  std::vector<int> takePath(int node) {
    if (m_left.empty()) {
      m_left.resize(m_arcs.size());
      m_out.resize(static_cast<std::size_t>(m_steps + 1) * m_topology.fabricNodes);
      for (std::size_t i = 0; i < m_arcs.size(); ++i) {
        m_left[i] = m_flow.flow(m_arcs[i].id);
        m_out[m_arcs[i].tail].push_back(static_cast<int>(i));
      }
    }
    std::vector<int> path{node};
    std::map<int, std::size_t> place{{node, 0}};
    while (path.back() < m_steps * m_topology.fabricNodes) {
      const auto& out = m_out[path.back()];
      const auto next = std::find_if(out.begin(), out.end(), [this](int i) { return m_left[i] > 0; });
      --m_left[*next];
      const int head = m_arcs[*next].head;
      // A flow may run in circles through switches: leave them out.
      if (const auto seen = place.find(head); seen != place.end()) {
        while (path.size() > seen->second + 1) {
          place.erase(path.back());
          path.pop_back();
        }
      } else {
        place[head] = path.size();
        path.push_back(head);
      }
    }
    return path;
  }

  [[nodiscard]] int at(int node, int layer) const { return layer * m_topology.fabricNodes + node; }
  [[nodiscard]] int rankAt(int unrolled) const { return m_rank[unrolled % m_topology.fabricNodes]; }

private:
  struct Arc {
    int tail = 0;
    int head = 0;
    int id = 0;
  };

  void add(int tail, int head, std::int64_t capacity) {
    m_arcs.push_back({tail, head, m_flow.addArc(tail, head, capacity)});
  }
  [[nodiscard]] int source() const { return (m_steps + 1) * m_topology.fabricNodes; }
  [[nodiscard]] int sink() const { return source() + 1; }

  const Problem& m_problem;
  const Topology& m_topology;
  int m_steps;
  flow::MaxFlow m_flow;
  std::vector<int> m_rank;
  std::vector<Arc> m_arcs;
  std::vector<std::int64_t> m_left;
  std::vector<std::vector<int>> m_out;
  std::int64_t m_target = 0;
};

/// The arc whose route these nodes are, or one that uses a part of its links; -1 = none.
int arcOfRoute(const Topology& topology, int from, int to, const std::vector<int>& nodes) {
  int best = -1;
  for (const int arc : topology.out[from]) {
    if (topology.arcs[arc].to != to) {
      continue;
    }
    const auto& route = topology.arcs[arc].nodes;
    if (route == nodes) {
      return arc;
    }
    // Dominated routes were left out; the one that stands for it passes only links of it.
    bool isPart = true;
    for (std::size_t i = 0; isPart && i + 1 < route.size(); ++i) {
      const auto found = std::find(nodes.begin(), nodes.end(), route[i]);
      isPart = found != nodes.end() && found + 1 != nodes.end() && found[1] == route[i + 1];
    }
    best = isPart ? arc : best;
  }
  return best;
}

}  // namespace

std::optional<Steps> singleFlow(const Problem& problem, std::int64_t n, std::span<const std::int64_t> rounds,
                                const std::function<bool()>& stop) {
  const Topology& topology = problem.topology;
  Unrolled unrolled(problem, n, rounds);
  if (!problem.requirements.empty() && !unrolled.isEnough()) {
    return std::nullopt;
  }
  // Chunks by their ends. One of the two is the same for all, so that any way from the one serves the other.
  std::map<std::pair<int, int>, std::vector<int>> chunks;
  for (std::size_t c = 0; c < problem.classes.size(); ++c) {
    const auto& [pre, post] = problem.classes[c];
    const int from = static_cast<int>(std::find(pre.begin(), pre.end(), true) - pre.begin());
    const int to = static_cast<int>(std::find(post.begin(), post.end(), true) - post.begin());
    for (std::int64_t i = 0; from != to && i < n; ++i) {
      chunks[{from, to}].push_back(static_cast<int>(c * n + i));
    }
  }
  std::map<int, std::size_t> leaving;
  for (const auto& [ends, all] : chunks) {
    leaving[ends.first] += all.size();
  }
  Steps result{{rounds.begin(), rounds.end()}, {}};
  for (const auto& [from, count] : leaving) {
    for (std::size_t i = 0; i < count; ++i) {
      if (stop()) {
        return std::nullopt;
      }
      const auto path = unrolled.takePath(unrolled.at(topology.gpus[from], 0));
      auto& waiting = chunks[{from, unrolled.rankAt(path.back())}];
      const int chunk = waiting.back();
      waiting.pop_back();
      std::vector<int> nodes{topology.gpus[from]};
      for (std::size_t at = 1; at < path.size(); ++at) {
        const int node = path[at] % topology.fabricNodes;
        const int sender = unrolled.rankAt(path[at - 1]) >= 0 ? path[at - 1] : -1;
        if (sender >= 0) {
          nodes.assign(1, sender % topology.fabricNodes);
        }
        nodes.push_back(node);
        const int to = unrolled.rankAt(path[at]);
        if (to >= 0 && nodes.front() != node) {
          const int first = unrolled.rankAt(nodes.front());
          const int arc = arcOfRoute(topology, first, to, nodes);
          result.sends.push_back({chunk, arc, path[at] / topology.fabricNodes - 1});
        }
      }
    }
  }
  prune(problem, n, result);
  return result;
}

}  // namespace coppice::synth
