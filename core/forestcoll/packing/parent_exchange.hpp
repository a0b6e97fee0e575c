// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forestcoll/packing/tree_table.hpp"

namespace coppice::forestcoll {

/// Which trees take which arcs into one node: trees get a parent there by alternating paths. A tree that wants a full
/// arc pushes another one over to an arc where that may go, and so on to an arc with room; a maximum matching of trees
/// and capacities, one tree at a time.
class ParentExchange {
public:
  explicit ParentExchange(TreeTable& table) : m_table(table) {}

  /// Turns to a node. limits, by tree: how high a tree may become by a change here (level of the node and what hangs
  /// below it). Bit sets over all trees make this O(arcs x trees / 8).
  void open(int node, std::span<const TreeTable::Small> limits);

  /// In how many places the tree could be if all arcs had room, not looking at cycles.
  [[nodiscard]] int choices(int tree) const { return m_choices[tree]; }

  struct Wish {
    int tree = 0;
    int maxHeight = TreeTable::kMaxNodes;  ///< of this tree by its new place, besides its limit
    int notUnder = -1;                     ///< the new parent must not be under this node in the tree
    bool mayCut = false;  ///< where all copies find no way together, cut off (here and from others) those that do
  };
  /// Gives the tree a parent (another one, if it has one: the room it leaves counts). False = no way, nothing changed.
  /// When cut, the copies that were placed keep the number of the tree; all others are in new trees, which are as they
  /// were.
  bool place(const Wish& wish);

  [[nodiscard]] std::int64_t work() const { return m_work; }

private:
  struct Step {
    int from = 0;   ///< place that the mover comes from, or a mark
    int tree = -1;  ///< the mover
    std::int64_t copies = 0;
  };
  [[nodiscard]] bool mayTake(std::size_t place, int tree) const;
  [[nodiscard]] bool isBlocked(std::size_t place, const Wish& wish) const;
  [[nodiscard]] bool closesCycle(int tail, int tree) const;
  int findMover(std::size_t from, std::size_t to, std::int64_t copies, int except);
  bool search(const Wish& wish, bool inParts);
  void cutPath();
  void followPath();
  void split(int tree, std::int64_t part);

  TreeTable& m_table;
  int m_node = -1;
  std::span<const int> m_arcs;
  std::size_t m_words = 0;
  std::vector<std::uint64_t> m_mayTake;  // arcs x trees
  std::vector<std::uint64_t> m_takes;
  std::vector<TreeTable::Small> m_choices;
  std::vector<TreeTable::Small> m_highest;  // a tail's level must be below this
  std::vector<std::uint8_t> m_bytes;
  std::vector<std::int64_t> m_blockedFrom;  // trees with at least that many copies find no room by this place
  std::vector<int> m_movers;                // arcs x arcs: a tree that may go from one to the other, as last seen
  std::vector<int> m_withRoom;              // places; some twice, some full by now
  std::vector<int> m_starts;
  std::vector<Step> m_steps;
  std::vector<int> m_queue;
  int m_goal = -1;
  std::int64_t m_work = 0;
};

}  // namespace coppice::forestcoll
