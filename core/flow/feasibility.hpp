// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/progress.hpp"
#include "base/rows.hpp"
#include "flow/blocking_flow.hpp"

namespace coppice::flow {

template <typename Cap>
struct CapacityArc {
  int tail = 0;
  int head = 0;
  Cap capacity = 0;
};

/// A node set Q (ascending) that holds a sink and whose entering capacity plus supply falls short of the target.
template <typename Cap>
struct Violation {
  std::vector<int> nodes;
  Cap deficit = 0;
};

/// Decides the one condition that every stage of ForestColl rests on, for all sinks at once.
///
/// Supplies r(v) >= 0 and K = sum r. Capacities are FEASIBLE iff every node set Q holding at least one sink has
/// in(Q) + r(Q) >= K; equivalently a super source joined to each v by r(v) reaches every sink with max flow K
/// (dissertation Thm 23, 25, 30). Q is TIGHT on equality.
///
/// One pass treats the sinks one after the other; a finished sink is ABSORBED and serves the later ones as an infinite
/// source. That loses nothing: a cut that separates the source from several sinks is seen at the first of them in the
/// order. Only the first sink costs a flow through the whole graph; the later flows stay local.
///
/// Flows are those of BlockingFlow, restored after each sink from a log.
/// Cap is std::int64_t or Int128. @pre the sum of all capacities and supplies fits Cap (the caller checks).
template <typename Cap>
class FeasibilityOracle {
public:
  /// Arcs with equal ends are ignored; parallel arcs are summed, but each keeps its handle only if it is the sole one
  /// of its ordered pair (setCapacity needs that).
  FeasibilityOracle(int nodeCount, std::span<const CapacityArc<Cap>> arcs, std::vector<Cap> supplies,
                    std::vector<int> sinks);

  /// K: sum of supplies.
  [[nodiscard]] Cap target() const { return m_target; }
  [[nodiscard]] int nodeCount() const { return m_nodeCount; }
  [[nodiscard]] Cap capacity(int arc) const { return m_capacity[index(m_handle, arc)]; }
  void setCapacity(int arc, Cap value);
  void addCapacity(int arc, Cap delta) { setCapacity(arc, capacity(arc) + delta); }
  [[nodiscard]] Cap supply(int node) const { return m_supply[node]; }
  void setSupply(int node, Cap value);

  /// One pass; stops at the first violation. Throws CancelledError.
  [[nodiscard]] bool isFeasible(const Progress& progress = {});
  /// One pass over all sinks; the first `max` violated sets, each with its deficit. Empty = feasible. Both spend the
  /// progress's work.
  [[nodiscard]] std::vector<Violation<Cap>> violations(std::size_t max, const Progress& progress = {});
  /// One pass over the given sinks only (each absorbed in turn).
  [[nodiscard]] std::vector<Violation<Cap>> violationsAt(std::span<const int> sinks, std::size_t max,
                                                         const Progress& progress = {});
  /// Largest K - in(Q) - r(Q) over sets with a sink, 0 when feasible. One full pass.
  [[nodiscard]] Cap largestDeficit();

  // Building blocks, for callers that look at the flow itself.

  /// Sinks in the order of passes: breadth first, so that neighbours follow each other.
  [[nodiscard]] std::span<const int> sinkOrder() const { return m_sinks; }
  /// Max flow into the sink, stopping at `wanted`; leaves the flow in place. Call undo() before the next one.
  Cap flowInto(int sink, Cap wanted);
  /// Takes back the flow of the last flowInto.
  void undo();
  void absorb(int node) { m_absorbed[node] = 1; }
  void clearAbsorbed();
  /// With a flow in place: all nodes with a residual path to one of the seeds, ascending. `isClosed` tells that none of
  /// them is absorbed or has supply left; then the set is tight if the flow reached K, violated if it fell short.
  [[nodiscard]] std::vector<int> reaching(std::span<const int> seeds, bool& isClosed);
  /// With a flow in place: all nodes with a residual path from the seed, ascending.
  [[nodiscard]] std::vector<int> reachableFrom(int seed);
  /// With a flow in place: whether a later flow could start at the node, which is absorbed or has supply left.
  [[nodiscard]] bool isSource(int node) const { return m_absorbed[node] != 0 || m_left[node] > 0; }
  /// With a flow in place: calls visit(neighbour) for each arc into the node that has capacity left.
  template <typename Visit>
  void forEachResidualInto(int node, Visit&& visit) {
    forEachResidual(node, 0, visit);
  }
  /// The same for the arcs out of the node.
  template <typename Visit>
  void forEachResidualOutOf(int node, Visit&& visit) {
    forEachResidual(node, 1, visit);
  }
  /// Arcs looked at since this was last asked: what flows have cost, in steps of work.
  [[nodiscard]] std::uint64_t takeWork() { return m_flow.takeWork(); }
  /// in(Q) for an arbitrary set, given as one flag per node.
  [[nodiscard]] Cap entering(const std::vector<char>& inSet) const;

private:
  static std::size_t index(const std::vector<int>& table, int i) { return static_cast<std::size_t>(table[i]); }
  /// The residual arc out of a node is the other one of the pair into it.
  template <typename Visit>
  void forEachResidual(int node, int isOut, Visit& visit) {
    const auto from = fromInto(node);
    const auto arcs = m_arcsInto[node];
    m_flow.addWork(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (m_residual[arcs[i] ^ isOut] > 0) {
        visit(from[i]);
      }
    }
  }
  /// The tails of m_arcsInto[node].
  [[nodiscard]] std::span<const int> fromInto(int node) const {
    return {m_from.data() + m_arcsInto.start(node), m_arcsInto.size(node)};
  }
  /// As BlockingFlow wants it.
  class Network {
  public:
    struct List {
      const int* from;
      const int* arcs;
      int count;
      [[nodiscard]] int size() const { return count; }
      [[nodiscard]] int node(int i) const { return from[i]; }
      [[nodiscard]] int arc(int i) const { return arcs[i]; }
    };
    explicit Network(FeasibilityOracle& oracle) : m_oracle(oracle) {}
    [[nodiscard]] List into(int node) const {
      const auto from = m_oracle.fromInto(node);
      return {from.data(), m_oracle.m_arcsInto[node].data(), static_cast<int>(from.size())};
    }
    [[nodiscard]] bool isOpen(int arc) const { return m_oracle.m_residual[arc] > 0; }
    [[nodiscard]] Cap room(int arc) const { return m_oracle.m_residual[arc]; }
    void push(int arc, Cap amount) {
      if (m_oracle.m_residual[arc] == m_oracle.m_capacity[arc]) {
        m_oracle.m_touchedPairs.push_back(arc / 2);
      }
      m_oracle.m_residual[arc] -= amount;
      m_oracle.m_residual[arc ^ 1] += amount;
    }
    [[nodiscard]] bool isUnlimited(int node) const { return m_oracle.m_absorbed[node] != 0; }
    [[nodiscard]] Cap left(int node) const { return m_oracle.m_left[node]; }
    void take(int node, Cap amount) {
      m_oracle.m_touchedNodes.push_back(node);
      m_oracle.m_left[node] -= amount;
    }

  private:
    FeasibilityOracle& m_oracle;
  };

  void indexPairs(const std::vector<std::pair<int, int>>& ends);
  void orderSinks();

  int m_nodeCount = 0;
  Cap m_target = 0;
  std::vector<Cap> m_supply;
  std::vector<Cap> m_left;  // supply not yet used by the flow in place
  std::vector<char> m_absorbed;
  std::vector<int> m_sinks;

  // Residual arc 2p goes from the smaller node of pair p to the larger one, 2p+1 back.
  std::vector<Cap> m_capacity;
  std::vector<Cap> m_residual;
  std::vector<int> m_handle;  // input arc -> residual arc
  Rows<int> m_arcsInto;       // residual arcs into each node
  std::vector<int> m_from;    // their tails

  std::vector<int> m_touchedPairs;
  std::vector<int> m_touchedNodes;
  BlockingFlow<Cap> m_flow;
};

extern template class FeasibilityOracle<std::int64_t>;
extern template class FeasibilityOracle<Int128>;

}  // namespace coppice::flow
