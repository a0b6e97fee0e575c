// SPDX-License-Identifier: Apache-2.0
#include "lp/cut_finder.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/checked.hpp"

namespace coppice::lp {
namespace {

using Oracle = flow::FeasibilityOracle<std::int64_t>;

constexpr std::int64_t kUnlimited = std::int64_t{1} << 61;

std::vector<int> flagged(const std::vector<bool>& flags) {
  std::vector<int> nodes;
  for (std::size_t node = 0; node < flags.size(); ++node) {
    if (flags[node]) {
      nodes.push_back(static_cast<int>(node));
    }
  }
  return nodes;
}

Oracle oracleOf(int nodeCount, const std::vector<int>& sinks, const std::vector<ArcEnds>& arcs) {
  std::vector<flow::CapacityArc<std::int64_t>> capacityArcs;
  for (const ArcEnds& arc : arcs) {
    capacityArcs.push_back({arc.tail, arc.head, 0});
  }
  return {nodeCount, capacityArcs, std::vector<std::int64_t>(static_cast<std::size_t>(nodeCount), 0), sinks};
}

/// With a flow in place: what no node with supply left reaches, the largest minimum cut.
NodeSet notReached(Oracle& oracle) {
  NodeSet set(static_cast<std::size_t>(oracle.nodeCount()), true);
  std::vector<int> queue;
  const auto reach = [&](int node) {
    if (set[node]) {
      set[node] = false;
      queue.push_back(node);
    }
  };
  for (int node = 0; node < oracle.nodeCount(); ++node) {
    if (oracle.isSource(node)) {
      reach(node);
    }
  }
  for (std::size_t i = 0; i < queue.size(); ++i) {
    oracle.forEachResidualOutOf(queue[i], reach);
  }
  return set;
}

}  // namespace

CutFinder::CutFinder(int nodeCount, const std::vector<bool>& isSink, std::vector<ArcEnds> arcs)
    : m_arcs(std::move(arcs)), m_sinks(flagged(isSink)), m_oracle(oracleOf(nodeCount, m_sinks, m_arcs)) {}

std::vector<NodeSet> CutFinder::violated(std::span<const std::int64_t> capacities,
                                         std::span<const std::int64_t> supplies, std::int64_t tolerance, bool firstOnly,
                                         const Progress& progress) {
  std::int64_t total = 0;
  for (const std::int64_t supply : supplies) {
    total = checkedAdd(total, supply);
  }
  std::int64_t all = total;
  for (const std::int64_t capacity : capacities) {
    all = checkedAdd(all, capacity);
  }
  if (all >= kUnlimited) {
    throw OverflowError("the sum of the capacities leaves the exact range of the maximum flow");
  }
  for (std::size_t i = 0; i < m_arcs.size(); ++i) {
    m_oracle.setCapacity(static_cast<int>(i), capacities[i]);
  }
  for (int node = 0; node < nodeCount(); ++node) {
    m_oracle.setSupply(node, supplies[node]);
  }
  m_oracle.clearAbsorbed();
  std::vector<NodeSet> found;
  std::set<NodeSet> seen;
  for (const int sink : m_sinks) {
    throwIfCancelled(progress);
    const std::int64_t flow = m_oracle.flowInto(sink, m_oracle.target());
    if (flow >= m_oracle.target() - tolerance) {
      m_oracle.undo();
      if (firstOnly) {
        m_oracle.absorb(sink);
      }
      continue;
    }
    NodeSet smallest(static_cast<std::size_t>(nodeCount()), false);
    bool isClosed = false;
    for (const int node : m_oracle.reaching(std::span(&sink, 1), isClosed)) {
      smallest[node] = true;
    }
    NodeSet largest = firstOnly ? smallest : notReached(m_oracle);
    m_oracle.undo();
    for (NodeSet* set : {&smallest, &largest}) {
      if (seen.insert(*set).second) {
        found.push_back(std::move(*set));
      }
    }
    if (firstOnly) {
      break;
    }
  }
  return found;
}

std::int64_t entering(const std::vector<ArcEnds>& arcs, std::span<const std::int64_t> values, const NodeSet& set) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    if (set[arcs[i].head] && !set[arcs[i].tail]) {
      sum = checkedAdd(sum, values[i]);
    }
  }
  return sum;
}

}  // namespace coppice::lp
