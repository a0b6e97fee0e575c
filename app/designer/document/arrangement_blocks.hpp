// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <map>
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
  [[nodiscard]] Block boxed(BoxId box);
  /// GPUs in no box that share their strongest switch, with all that serves no others.
  [[nodiscard]] std::vector<Group> clusters(const std::vector<int>& loose) const;
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
  /// Rows of relays over a field of placed vertices; y counts up from it. Returns the height used.
  double addRelays(Block& block, const std::vector<int>& relays, double top, double gap, bool isAbove, double left,
                   double right);
  [[nodiscard]] double barWidth(int relay) const;

  const Model& m_model;
  const Graph& m_graph;
  const Progress& m_progress;
  std::map<BoxId, std::vector<int>> m_inBox;  // directly
  std::map<BoxId, std::vector<BoxId>> m_boxesIn;
  std::vector<int> m_unitOf;  // of the group being put together: unit, or kRelay, or kOutsideGroup
};

}  // namespace coppice::designer::arrangement
