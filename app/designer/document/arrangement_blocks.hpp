// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "designer/document/arrangement_parts.hpp"

namespace coppice::designer::arrangement {

/// The tiered arrangement: blocks of units (GPUs, boxes, pods) with the relays that join them.
class Tiers {
public:
  Tiers(const Model& model, const Graph& graph, const Progress& progress);

  /// Everything.
  [[nodiscard]] Block all();
  /// The vertices in the box at any depth, without its margin.
  [[nodiscard]] Block inside(BoxId box);

private:
  /// A group while it is being put together: blocks to be joined, and the relays that join them.
  struct Group {
    std::vector<Block> units;
    std::vector<int> relays;
    bool isTop = false;
  };
  [[nodiscard]] Block joined(Group group);
  /// Marks the vertices of the group in m_unitOf.
  void mark(const Group& group);
  void unmark(const Group& group, const std::vector<int>& far);
  /// The vertex is linked to something outside the marked group.
  [[nodiscard]] bool leadsOut(int i) const;
  [[nodiscard]] bool leadsOut(const Group& group) const;
  /// Takes the relays from which only units lead out. @pre the group leads out
  [[nodiscard]] std::vector<int> takeFarRelays(Group& group) const;
  /// The relays of the group by their distance from the units.
  [[nodiscard]] std::vector<std::vector<int>> tiersOf(const Group& group) const;
  /// nullopt where the relay is linked to no unit.
  [[nodiscard]] std::optional<int> firstUnitOf(int relay) const;
  /// Pairs of units that are linked without a relay, ascending.
  [[nodiscard]] std::vector<std::pair<int, int>> directLinks(const Group& group) const;
  /// Turns what the lowest tier joins into units, unless it joins everything. @return whether that may be repeated
  bool joinPods(Group& group, std::vector<std::vector<int>>& tiers);
  [[nodiscard]] Block boxed(BoxId box);
  struct Candidate;
  [[nodiscard]] bool isLooseGpu(int i) const;
  [[nodiscard]] std::vector<Candidate> candidatesAmong(const std::vector<int>& loose) const;
  /// GPUs in no box that share their strongest switch, with all that serves no others.
  [[nodiscard]] std::vector<Group> clusters(const std::vector<int>& loose) const;
  void addRelaysOf(const std::vector<int>& loose, std::map<int, std::size_t>& clusterOf,
                   std::vector<Group>& groups) const;
  /// What a group is part of.
  enum class Place {
    top,    ///< of nothing: it may be on both sides of its network
    alone,  ///< of a box without links to elsewhere: its GPUs may be on both sides of their switch
    open,   ///< of something that leads on above
    pod     ///< the same, and one of many
  };
  /// Units in rows with relays above by tier and, from `far`, below.
  [[nodiscard]] Block stacked(std::vector<Block> units, const std::vector<std::vector<int>>& tiers,
                              const std::vector<int>& far, Place role);
  struct Stack;
  [[nodiscard]] Stack measured(const std::vector<Block>& units, const std::vector<std::vector<int>>& tiers,
                               Place role) const;
  /// Each unit has a switch that is linked to a switch.
  [[nodiscard]] bool areTrees(const std::vector<Block>& units) const;
  /// The number of rows that comes closest to the wanted shape.
  [[nodiscard]] std::size_t rowsOf(const Stack& stack, const std::vector<Block>& units, bool hasFar, Place role) const;
  /// GPUs above and below their switch.
  [[nodiscard]] Block onBothSides(const std::vector<Block>& units, const std::vector<int>& relays);
  /// Rows above and below the network.
  [[nodiscard]] Block foldedAround(std::vector<Block> units, const std::vector<std::vector<int>>& tiers,
                                   std::size_t rows, QPointF gaps, double hubGap);
  /// Moved to the origin, with its size.
  [[nodiscard]] Block toCorner(const Block& block) const;
  /// Rows of relays over a field of placed vertices; y counts up from it. Returns the height used.
  double addRelays(Block& block, const std::vector<int>& relays, double top, double gap, bool isAbove, double left,
                   double right);
  [[nodiscard]] double barWidth(int relay) const;
  [[nodiscard]] const Graph::Vertex& vertex(int i) const { return m_graph.vertices[i]; }
  [[nodiscard]] int& unitOf(int i) { return m_unitOf[i]; }
  [[nodiscard]] int unitOf(int i) const { return m_unitOf[i]; }

  const Model& m_model;
  const Graph& m_graph;
  const Progress& m_progress;
  std::map<BoxId, std::vector<int>> m_inBox;  // directly
  std::map<BoxId, std::vector<BoxId>> m_boxesIn;
  std::vector<int> m_unitOf;  // of the group being put together: unit, or kRelay, or kOutsideGroup
};

}  // namespace coppice::designer::arrangement
