// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/progress.hpp"
#include "base/rows.hpp"
#include "flow/feasibility.hpp"
#include "forestcoll/network.hpp"
#include "live/equal_parts.hpp"

namespace coppice::live {

/// The largest demand(V \ Q) / in(Q) over the node sets Q that hold a sink. Exit 0 with a positive demand is endless:
/// nothing can pass.
struct WorstCut {
  std::int64_t demand = 0;    ///< 0 = there is nothing to send
  std::int64_t exit = 1;      ///< in(Q), in 1/denominator of a unit of capacity
  std::vector<int> sinkSide;  ///< Q, ascending; it may name nodes that are gone
};
/// By the ratio. @pre exits count in the same unit
[[nodiscard]] bool isLess(const WorstCut& a, const WorstCut& b);

/// What one question changes of the network.
struct Trial {
  struct Capacity {
    int arc = 0;
    std::int64_t value = 0;  ///< in 1/denominator of a unit
  };
  std::vector<Capacity> capacities = {};  ///< each arc once
  std::vector<int> gone = {};             ///< nodes that go, with their arcs and their demand
  std::int64_t denominator = 1;
  /// The capacities change alike for all arcs of a class of equal ones, so that no exchange of parts is lost.
  bool isSymmetric = false;
};

/// What the questions about one direction of a collective have in common. Immutable.
struct CutProblem {
  forestcoll::Network network;
  std::vector<int> sinks;
  std::shared_ptr<const EqualParts> parts;  ///< of the network or its transpose; null = not looked for
  Rows<int> inArcs;                         ///< by node
  std::vector<std::int64_t> ingress;        ///< by node
  Int128 totalCapacity = 0;

  /// Throws OverflowError.
  CutProblem(forestcoll::Network network, std::vector<int> sinks, std::shared_ptr<const EqualParts> parts);
};

/// Newton's method (Dinkelbach) on the cut ratio, as forestcoll::worstCut has it, for a network of which little changes
/// from question to question. Of sinks that exchanges of equal parts map onto each other, one is looked at. Not
/// thread-safe; the problem may be shared.
class CutSearch {
public:
  /// @param problem must outlive this
  explicit CutSearch(const CutProblem& problem) : m_problem(problem) {}

  /// Of the network as it is. Throws CancelledError, OverflowError.
  const WorstCut& base(const Progress& progress);
  /// Starts from a cut that is known, as base() found it.
  void setBase(WorstCut base) { m_base = std::move(base); }
  /// The cut around these nodes in the network as it is.
  [[nodiscard]] WorstCut around(std::vector<int> sinkSide) const;
  /// Of the changed network. Throws as base().
  [[nodiscard]] WorstCut worst(const Trial& trial, const Progress& progress);

private:
  template <typename Cap>
  struct Engine {
    flow::FeasibilityOracle<Cap> oracle;
    Cap scale = 0;        ///< capacities are in the oracle times this
    Cap supplyScale = 0;  ///< demands
  };
  /// A trial as the search needs it.
  struct Changes;

  [[nodiscard]] Changes changesOf(const Trial& trial) const;
  [[nodiscard]] WorstCut start(const Changes& changes) const;
  [[nodiscard]] WorstCut ratioOf(std::vector<int> sinkSide, const Changes& changes) const;
  template <typename Cap>
  void search(std::optional<Engine<Cap>>& engine, const Changes& changes, WorstCut& worst, const Progress& progress);

  const CutProblem& m_problem;
  std::optional<WorstCut> m_base;
  std::vector<int> m_baseClasses;  ///< by node, of the network as it is
  std::optional<Engine<std::int64_t>> m_engine64;
  std::optional<Engine<Int128>> m_engine128;
};

}  // namespace coppice::live
