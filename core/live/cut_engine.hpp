// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/progress.hpp"
#include "live/cut_graph.hpp"
#include "live/local_flow.hpp"

namespace coppice::live {

/// demand / exit of a cut. Exit 0 with a positive demand is endless: nothing can pass.
struct CutRatio {
  std::int64_t demand = 0;
  std::int64_t exit = 1;
};
[[nodiscard]] bool isLess(const CutRatio& a, const CutRatio& b);

/// The largest demand(V \ Q) / in(Q) over the node sets Q that hold a sink, for a graph that changes.
///
/// Every sink t has a place in a fixed order, and every Q belongs to its first sink; so the answer is the largest of
/// the sinks' own ratios r(t), each over the Q that hold t and no earlier sink. For each sink two facts are kept:
///
///  * a SET Q of t, whose demand and in(Q) follow every edit, so that its ratio is a lower bound on r(t) at any time;
///  * a CERTIFICATE: a flow into t of value X from outside t, within capacities P * c, from supplies Q * a(v), with
///    earlier sinks as endless sources. It proves r(t) <= P / Q as long as X >= Q * (D - a(t)), D the whole demand:
///    for any Q' of t the flow must cross into Q' or start in it, so P * in(Q') + Q * a(Q' \ t) >= X. If D fell, the
///    same flow serves the larger supply scale X / (D - a(t)) >= Q, and so proves r(t) <= P * (D - a(t)) / X.
///
/// A certificate is a flow, so it stays true unless a capacity it uses falls below its use or D rises: raising arcs
/// harms none, and lowering one harms those alone that use it beyond its new capacity. Only sinks whose upper bound
/// then exceeds the best lower bound are solved again (Newton on the cut ratio, from their own set); since later sinks
/// are fed by their earlier neighbours, such a flow is local. Exact integers throughout.
///
/// Where boxes are known to be equal, only the first sink of each class of equal sinks is looked at. Let Q be any set,
/// and t its first sink. If t is not the first of its class, exchanging its box with that of the first one takes Q to a
/// set of the same ratio whose first sink comes before t. Repeated, this ends at a set that belongs to the first sink
/// of a class, so that the largest ratio is among these. An edit inside a box, or to an arc that ends there, leaves the
/// exchanges of all other boxes as they are; the box itself counts as unequal from then on.
class CutEngine {
public:
  struct NodeInit {
    bool isSink = false;
    std::int64_t demand = 0;  ///< also of nodes that are not sinks
  };
  struct ArcInit {
    int tail = 0;
    int head = 0;
    std::int64_t capacity = 0;
  };
  /// Sinks are ordered breadth first over the arcs. Throws OverflowError.
  CutEngine(std::span<const NodeInit> nodes, std::span<const ArcInit> arcs);

  /// Boxes that can be exchanged with each other without a change of the graph.
  struct EqualBoxes {
    std::vector<int> boxOf;    ///< by node: its box, -1 = none
    std::vector<int> classOf;  ///< by node: the same for nodes that such an exchange takes to each other
  };
  /// @pre they are equal as the graph stands; nodes that are added later are in no box.
  void setEqualBoxes(EqualBoxes boxes);
  /// Boxes that edits have made unequal since.
  [[nodiscard]] int touchedBoxes() const { return m_touchedCount; }

  // Edits. Each throws OverflowError before it changes anything.

  int addNode();
  /// Whether the node is a sink now, and its demand. To take a node away: retire().
  /// @pre in a probe, a node that was never a sink has no arcs yet.
  void setSink(int node, bool isSink, std::int64_t demand);
  /// Takes all arcs of the node, its demand and its being a sink. Flows that only started there stay certificates for
  /// the smaller demand.
  void retire(int node);
  void setCapacity(int tail, int head, std::int64_t capacity);
  /// All capacities times the factor, which changes no cut.
  void rescale(std::int64_t factor);

  [[nodiscard]] int nodeCount() const { return m_graph.nodeCount(); }
  /// By node, as it stands.
  [[nodiscard]] std::vector<NodeInit> nodeInits() const;
  [[nodiscard]] std::int64_t capacity(int tail, int head) const;
  [[nodiscard]] std::int64_t demand(int node) const { return m_demand[node]; }
  [[nodiscard]] std::int64_t totalDemand() const { return m_total; }

  // The answer.

  struct Answer {
    CutRatio ratio;             ///< demand 0: nothing to send
    std::vector<int> sinkSide;  ///< Q, ascending; may name retired nodes; empty when there is nothing to send
    int solvedAgain = 0;        ///< sinks that needed a flow
  };
  /// Brings the answer up to date. Throws CancelledError and OverflowError; what was solved until then is kept.
  const Answer& solve(const Progress& progress);
  [[nodiscard]] bool isSolved() const { return m_isSolved; }
  /// Solves the sinks of the node's box that equal ones stand for, so that several probes that change the box find
  /// their certificates. @pre isSolved(), no probe. Throws CancelledError.
  void certifyBoxOf(int node, const Progress& progress);
  /// A sink in the engine's order, and whether some cut of the answer's ratio can have it as its first sink. False
  /// is proven by the sink's certificate.
  struct OrderedSink {
    int node = 0;
    bool canBeTight = true;
  };
  /// @pre isSolved(), no probe
  [[nodiscard]] std::vector<OrderedSink> orderedSinks() const;
  /// Demand outside the set and capacity into it.
  [[nodiscard]] CutRatio ratioOf(std::span<const int> set) { return {m_total - demandOf(set), entering(set)}; }

  // Questions about changes that are not kept. Between beginProbe and endProbe the edits above, except rescale, go into
  // a journal that endProbe takes back, and solve() answers for the changed graph.

  /// @pre isSolved(). Capacities set with setFine count in 1/denominator of a unit, and so does Answer::ratio.exit.
  /// Throws OverflowError.
  void beginProbe(std::int64_t denominator = 1);
  void setFine(int tail, int head, std::int64_t capacity);
  void endProbe();

  /// By sink: how often the given arcs (tail, head, weight) enter its set.
  struct WeightedArc {
    int tail = 0;
    int head = 0;
    std::int64_t weight = 1;
  };
  [[nodiscard]] std::vector<std::int64_t> enteringWeights(std::span<const WeightedArc> arcs) const;
  [[nodiscard]] static std::int64_t enteringWeight(std::span<const WeightedArc> arcs, std::span<const int> set);
  [[nodiscard]] int sinkSlots() const { return static_cast<int>(m_sinks.size()); }
  /// The ratio of the sink's stored set; demand 0 for a sink that is none now. Not between beginProbe and endProbe.
  [[nodiscard]] CutRatio storedRatio(int slot) const;

private:
  /// A cache line each: solve() goes through all.
  struct Sink {
    // The set, which is in m_setOf.
    std::int64_t setDemand = 0;
    std::int64_t exit = 0;
    // The certificate.
    Int128 inflow = 0;             // X
    std::int64_t scale = 0;        // P
    std::int64_t supplyScale = 1;  // Q
    std::uint32_t setSerial = 0;
    std::uint32_t useSerial = 0;
    int node = -1;
    bool isActive = false;
    bool isExitFine = false;
    bool isCertified = false;
  };
  static_assert(sizeof(Sink) <= 64);
  struct Entry {
    int sink = 0;
    std::uint32_t serial = 0;
  };
  struct Use {
    int sink = 0;
    std::uint32_t serial = 0;
    std::int64_t amount = 0;  // at least the flow divided by P
  };
  /// What a probe may change of a sink.
  struct Saved {
    int sink = 0;
    bool isExitFine = false;
    bool isCertified = false;
    std::int64_t setDemand = 0;
    std::int64_t exit = 0;
    Int128 inflow = 0;
  };
  struct SavedArc {
    int arc = 0;
    std::int64_t capacity = 0;
    bool isFine = false;
  };
  struct SavedNode {
    int node = 0;
    bool isSink = false;
    std::int64_t demand = 0;
  };

  void orderSinks(std::span<const NodeInit> nodes);
  /// The node's box is unequal to all others from now on.
  void touch(int node);
  /// The sinks to which no earlier one is equal, in their order.
  void findUncovered();
  [[nodiscard]] bool is64() const;
  void resolve(int index, Answer& best);
  int giveSlot(int node);
  void requireFits(Int128 totalCapacity, Int128 totalDemand, std::int64_t denominator) const;
  void change(int tail, int head, std::int64_t capacity, bool isFine, bool keepsUses);
  Sink& modify(int sink);
  [[nodiscard]] std::int64_t exitOf(const Sink& sink) const;
  [[nodiscard]] CutRatio lowerBound(const Sink& sink) const;
  [[nodiscard]] CutRatio singleton(int node) const;
  [[nodiscard]] bool isAtMost(const Sink& sink, const CutRatio& bound) const;
  /// The certificate proves that the sink's ratio is less. Not between beginProbe and endProbe.
  [[nodiscard]] bool isBelow(const Sink& sink, const CutRatio& bound) const;
  template <typename Cap>
  void resolve(LocalFlow<Cap>& flow, int index, Answer& best);
  void storeSet(int index, std::vector<int> set);
  template <typename Cap>
  void storeCertificate(LocalFlow<Cap>& flow, int index, std::int64_t scale, std::int64_t supplyScale);
  [[nodiscard]] std::int64_t demandOf(std::span<const int> set) const;
  [[nodiscard]] std::int64_t entering(std::span<const int> set);

  CutGraph m_graph;
  std::vector<std::int64_t> m_demand;  // by node
  std::vector<int> m_order;            // by node: sink slot while active, else INT_MAX
  std::vector<int> m_slot;             // by node: -1 = never was a sink
  std::vector<Sink> m_sinks;
  std::vector<std::vector<int>> m_setOf;  // by sink
  std::vector<int> m_nodeOfSlot;
  std::int64_t m_total = 0;
  Int128 m_totalCapacity = 0;                // in the probe's fractions, rounded up, for requireFits
  std::vector<std::vector<Entry>> m_setsAt;  // by node
  std::vector<std::vector<Use>> m_usesOf;    // by arc
  std::int64_t m_storedNodes = 0;

  EqualBoxes m_boxes;                       // empty = none are known
  std::vector<std::vector<int>> m_nodesOf;  // by box, until its sinks are certified
  std::vector<char> m_isTouched;            // by box
  int m_touchedCount = 0;
  std::vector<std::uint32_t> m_seenIn;  // by class: the last pass that met it
  std::uint32_t m_pass = 0;
  std::vector<int> m_uncovered;  // of findUncovered()

  Answer m_answer;
  bool m_isSolved = false;

  bool m_isProbing = false;
  std::int64_t m_denominator = 1;
  Answer m_probeAnswer;
  std::vector<Saved> m_savedSinks;
  std::vector<char> m_isSaved;
  std::vector<SavedArc> m_savedArcs;
  std::vector<SavedNode> m_savedNodes;
  std::vector<int> m_savedBoxes;  // touched by the probe
  Int128 m_savedTotalCapacity = 0;

  LocalFlow<std::int64_t> m_flow64;
  LocalFlow<Int128> m_flow128;
  std::vector<char> m_mark;
};

}  // namespace coppice::live
