// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/rows.hpp"
#include "forestcoll/tree_packing.hpp"

namespace coppice::forestcoll {

/// A packing under change: by node and tree the parent, the level (depth) and the height of what hangs below. Trees are
/// columns of tables whose rows are nodes. A tree may be in pieces: a node without a parent that carries others keeps
/// the level it last had, one that carries nothing may be nowhere.
/// Every change keeps arcs within their capacity and trees without cycles; each is O(height x degree) and the size of
/// what is moved.
class TreeTable {
public:
  using Small = std::uint16_t;
  static constexpr Small kUnplaced = std::numeric_limits<Small>::max();  ///< level; deeper than any height allowed
  static constexpr Small kNoParent = std::numeric_limits<Small>::max();
  static constexpr Small kIsRoot = kNoParent - 1;  ///< parents() of a root
  static constexpr int kMaxNodes = 60000;

  /// Whether tables for that many trees stay within about 1 GB.
  [[nodiscard]] static bool fits(const PackingProblem& problem, std::int64_t trees);

  /// @pre fits(problem, maxTrees). The problem must outlive the table; more trees can be added, at a cost.
  TreeTable(const PackingProblem& problem, int maxTrees);

  /// A root alone.
  int addTree(int root, std::int64_t copies);
  /// A whole tree. @pre its arcs have room.
  int addTree(const PackedTree& tree);
  /// Takes `part` of the copies (0 < part < copies) out into a new tree of the same shape.
  int split(int tree, std::int64_t part);

  [[nodiscard]] const PackingProblem& problem() const { return m_problem; }
  [[nodiscard]] int nodeCount() const { return m_problem.nodeCount; }
  [[nodiscard]] int treeCount() const { return static_cast<int>(m_root.size()); }
  /// Columns that the rows have room for, a multiple of 64.
  [[nodiscard]] std::size_t stride() const { return m_stride; }
  [[nodiscard]] int root(int tree) const { return m_root[index(tree)]; }
  [[nodiscard]] std::int64_t copies(int tree) const { return m_copies[index(tree)]; }
  [[nodiscard]] std::int64_t room(int arc) const { return m_room[index(arc)]; }
  [[nodiscard]] std::span<const int> arcsInto(int node) const { return m_in[index(node)]; }
  [[nodiscard]] int tailOf(int arc) const { return m_problem.arcs[index(arc)].tail; }

  /// Rows, by tree. parents() are places in arcsInto(node).
  [[nodiscard]] const Small* levels(int node) const { return m_level.data() + cell(node, 0); }
  [[nodiscard]] const Small* below(int node) const { return m_below.data() + cell(node, 0); }
  [[nodiscard]] const Small* parents(int node) const { return m_parent.data() + cell(node, 0); }
  [[nodiscard]] int level(int node, int tree) const { return m_level[cell(node, tree)]; }
  [[nodiscard]] int below(int node, int tree) const { return m_below[cell(node, tree)]; }
  [[nodiscard]] int place(int node, int tree) const { return m_parent[cell(node, tree)]; }
  [[nodiscard]] bool isMissing(int node, int tree) const { return m_parent[cell(node, tree)] == kNoParent; }
  /// @pre the node has a parent there.
  [[nodiscard]] int parent(int node, int tree) const { return tailOf(arcsInto(node)[m_parent[cell(node, tree)]]); }
  [[nodiscard]] int height(int tree) const { return below(root(tree), tree); }
  /// Trees in which the node has no parent.
  [[nodiscard]] int missing(int node) const { return m_missing[index(node)]; }
  [[nodiscard]] std::int64_t missingCount() const { return m_missingCount; }
  /// The node hangs below `top` or is `top`.
  [[nodiscard]] bool isUnder(int tree, int node, int top) const;

  void detach(int node, int tree);
  /// @pre the node has no parent, the arc at that place has room, its tail is somewhere and not under the node.
  void attach(int node, int tree, int place);

  /// Calls of attach() so far.
  [[nodiscard]] std::int64_t changes() const { return m_changes; }
  /// Elementary steps of changes so far.
  [[nodiscard]] std::int64_t work() const { return m_work; }
  /// The tree with its arcs by ascending level; nodes without a parent are left out.
  [[nodiscard]] PackedTree tree(int tree) const;

private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] std::size_t cell(int node, int tree) const { return index(node) * m_stride + index(tree); }
  [[nodiscard]] std::span<const int> arcsFrom(int node) const { return m_out[index(node)]; }
  [[nodiscard]] bool isChild(int arc, int tree) const {
    return m_parent[cell(m_problem.arcs[index(arc)].head, tree)] == m_place[index(arc)];
  }
  void widen();

  const PackingProblem& m_problem;
  Rows<int> m_in;  // arcs by head
  Rows<int> m_out;
  std::vector<Small> m_place;  // of each arc among those into its head
  std::vector<std::int64_t> m_room;
  std::vector<int> m_root;
  std::vector<std::int64_t> m_copies;
  std::size_t m_stride = 0;
  std::vector<Small> m_level;
  std::vector<Small> m_below;
  std::vector<Small> m_parent;
  std::vector<int> m_missing;
  std::int64_t m_missingCount = 0;
  std::vector<int> m_stack;
  std::int64_t m_changes = 0;
  mutable std::int64_t m_work = 0;
};

}  // namespace coppice::forestcoll
