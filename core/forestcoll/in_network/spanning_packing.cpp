// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/in_network/spanning_packing.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/checked.hpp"
#include "base/disjoint_sets.hpp"
#include "lp/program_support.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

/// Edges taken up for one rate, each divided between its two directions.
class EdgeIntake {
public:
  EdgeIntake(int nodeCount, const std::vector<WeightedEdge>& edges, const std::vector<std::vector<int>>& edgesOf,
             int64_t unit, int64_t rate, lp::WorkBudget& budget, const Progress& progress)
      : m_edges(edges),
        m_edgesOf(edgesOf),
        m_unit(unit),
        m_rate(rate),
        m_budget(budget),
        m_progress(progress),
        m_into(edges.size(), {0, 0}),
        m_entering(static_cast<std::size_t>(nodeCount), 0),
        m_tight(static_cast<std::size_t>(nodeCount)),
        m_seen(static_cast<std::size_t>(nodeCount), 0),
        m_by(static_cast<std::size_t>(nodeCount), -1) {}

  /// Whether trees of the rate exist.
  bool takeAll() {
    int64_t taken = 0;
    for (std::size_t edge = 0; edge < m_edges.size() && !m_budget.isSpent(); ++edge) {
      taken = checkedAdd(taken, take(static_cast<int>(edge)));
    }
    return taken == checkedMul<int64_t>(m_rate, static_cast<int64_t>(m_entering.size()) - 1);
  }

  /// The sets in which edges were left: the parts of a partition.
  [[nodiscard]] DisjointSets& tightSets() { return m_tight; }

  /// Turns edges round until nothing enters the root. @pre takeAll()
  void clear(int root) {
    const std::array<int, 1> roots{root};
    while (m_entering[root] > 0 && turnTowards(roots, m_entering[root]) > 0) {
    }
  }

  /// By edge, what enters its end b, and what enters its end a.
  [[nodiscard]] int64_t forward(int edge) const { return m_into[edge][1]; }
  [[nodiscard]] int64_t backward(int edge) const { return m_into[edge][0]; }

private:
  [[nodiscard]] int64_t room(int node) const { return m_rate - m_entering[node]; }
  [[nodiscard]] int64_t& into(int edge, int node) { return m_into[edge][m_edges[edge].b == node ? 1 : 0]; }
  [[nodiscard]] int otherEnd(int edge, int node) const {
    return m_edges[edge].a == node ? m_edges[edge].b : m_edges[edge].a;
  }

  /// As much of an edge as every set of nodes with both ends has room for. What it must leave shows a set without.
  int64_t take(int edge) {
    throwIfCancelled(m_progress);
    const auto& [a, b, capacity] = m_edges[edge];
    if (m_tight.find(a) == m_tight.find(b)) {
      return 0;
    }
    const int64_t wanted = checkedMul(capacity, m_unit);
    const std::array<int, 2> ends{a, b};
    const auto missing = [&] {
      return std::min(checkedAdd(m_rate, wanted), checkedMul<int64_t>(m_rate, 2)) - room(a) - room(b);
    };
    while (missing() > 0 && turnTowards(ends, missing()) > 0) {
    }
    const int64_t taken = std::min(wanted, room(a) + room(b) - m_rate);
    into(edge, a) = std::min(taken, room(a));
    m_entering[a] += into(edge, a);
    into(edge, b) = taken - into(edge, a);
    m_entering[b] += into(edge, b);
    if (taken < wanted) {
      turnTowards(ends, 0);  // what is reached from both has no room
      for (const int node : m_reached) {
        m_tight.join(a, node);
      }
    }
    return taken;
  }

  /// Along a shortest way from one of the nodes to a node with room, edges that enter the former end are turned round.
  /// How much; 0 where no such node is reached, or none was asked for.
  int64_t turnTowards(std::span<const int> from, int64_t wanted) {
    ++m_round;
    m_reached.assign(from.begin(), from.end());
    for (const int node : from) {
      m_seen[node] = m_round;
      m_by[node] = -1;
    }
    for (std::size_t i = 0; i < m_reached.size(); ++i) {
      const int node = m_reached[i];
      constexpr std::size_t kNumbersPerEdge = 4;
      m_budget.spend(kNumbersPerEdge * m_edgesOf[node].size());
      for (const int edge : m_edgesOf[node]) {
        const int other = otherEnd(edge, node);
        if (m_seen[other] == m_round || into(edge, node) == 0) {
          continue;
        }
        m_seen[other] = m_round;
        m_by[other] = edge;
        m_reached.push_back(other);
        if (wanted > 0 && room(other) > 0) {
          return turn(other, std::min(wanted, room(other)));
        }
      }
    }
    return 0;
  }

  int64_t turn(int last, int64_t amount) {
    for (int node = last; m_by[node] >= 0; node = otherEnd(m_by[node], node)) {
      amount = std::min(amount, into(m_by[node], otherEnd(m_by[node], node)));
    }
    int node = last;
    for (; m_by[node] >= 0; node = otherEnd(m_by[node], node)) {
      into(m_by[node], otherEnd(m_by[node], node)) -= amount;
      into(m_by[node], node) += amount;
    }
    m_entering[last] += amount;
    m_entering[node] -= amount;
    return amount;
  }

  const std::vector<WeightedEdge>& m_edges;
  const std::vector<std::vector<int>>& m_edgesOf;
  int64_t m_unit;
  int64_t m_rate;
  lp::WorkBudget& m_budget;
  const Progress& m_progress;
  std::vector<std::array<int64_t, 2>> m_into;  ///< by edge: what enters a, what enters b
  std::vector<int64_t> m_entering;             ///< by node, at most the rate
  DisjointSets m_tight;
  int m_round = 0;
  std::vector<int> m_seen;  ///< by node: the round
  std::vector<int> m_by;    ///< by node: the edge over which it was reached
  std::vector<int> m_reached;
};

/// A node from which the farthest node is nearest, in edges.
int middleOf(const std::vector<WeightedEdge>& edges, const std::vector<std::vector<int>>& edgesOf) {
  const std::size_t count = edgesOf.size();
  int best = 0;
  int least = static_cast<int>(count) + 1;
  std::vector<int> depth(count);
  std::vector<int> order;
  for (std::size_t start = 0; start < count; ++start) {
    std::fill(depth.begin(), depth.end(), -1);
    order.assign(1, static_cast<int>(start));
    depth[start] = 0;
    for (std::size_t i = 0; i < order.size() && depth[order[i]] < least; ++i) {
      for (const int edge : edgesOf[order[i]]) {
        const int other = edges[edge].a == order[i] ? edges[edge].b : edges[edge].a;
        if (depth[other] < 0) {
          depth[other] = depth[order[i]] + 1;
          order.push_back(other);
        }
      }
    }
    if (depth[order.back()] < least) {
      least = depth[order.back()];
      best = static_cast<int>(start);
    }
  }
  return best;
}

}  // namespace

std::optional<SpanningPacking> spanningPacking(int nodeCount, const std::vector<WeightedEdge>& edges,
                                               lp::Milliseconds budget, const Progress& progress) {
  std::vector<std::vector<int>> edgesOf(static_cast<std::size_t>(nodeCount));
  for (std::size_t edge = 0; edge < edges.size(); ++edge) {
    edgesOf[edges[edge].a].push_back(static_cast<int>(edge));
    edgesOf[edges[edge].b].push_back(static_cast<int>(edge));
  }
  SpanningPacking packing;
  packing.parts = nodeCount;
  for (int node = 0; node < nodeCount; ++node) {
    packing.partOf.push_back(node);
  }
  lp::WorkBudget work(budget);
  for (;;) {
    progress.report("spanning trees", 0);
    packing.cross = 0;
    for (const WeightedEdge& edge : edges) {
      if (packing.partOf[edge.a] != packing.partOf[edge.b]) {
        packing.cross = checkedAdd(packing.cross, edge.capacity);
      }
    }
    EdgeIntake intake(nodeCount, edges, edgesOf, packing.parts - 1, packing.cross, work, progress);
    const bool exists = intake.takeAll();
    if (work.isSpent()) {
      return std::nullopt;
    }
    if (exists) {
      packing.root = middleOf(edges, edgesOf);
      intake.clear(packing.root);
      for (int edge = 0; edge < static_cast<int>(edges.size()); ++edge) {
        packing.forward.push_back(intake.forward(edge));
        packing.backward.push_back(intake.backward(edge));
      }
      return packing;
    }
    // The sets are the parts of a partition across which less runs than trees of the rate need.
    std::vector<int> nameOf(static_cast<std::size_t>(nodeCount), -1);
    packing.parts = 0;
    for (int node = 0; node < nodeCount; ++node) {
      int& name = nameOf[intake.tightSets().find(node)];
      if (name < 0) {
        name = packing.parts++;
      }
      packing.partOf[node] = name;
    }
  }
}

}  // namespace coppice::forestcoll
