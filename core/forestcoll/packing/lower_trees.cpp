// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "forestcoll/packing/low_packing.hpp"
#include "forestcoll/packing/parent_exchange.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

/// Takes trees down one level at a time: every node on the deepest level, or one above it on its path, gets another
/// parent; trees that make room stay within their limits.
class Lowering {
public:
  Lowering(TreeTable& table, const Progress& progress, int64_t work, int maxTrees)
      : m_table(table), m_exchange(table), m_progress(progress), m_end(table.work() + work), m_maxTrees(maxTrees) {}

  /// The greatest height of all: everything may become as high as one less.
  void lowerHighest() {
    while (!isSpent()) {
      const std::vector<int> trees = byHeight();
      const int highest = m_table.height(trees.front());
      if (highest < 2) {
        return;
      }
      m_limits.assign(trees.size(), static_cast<TreeTable::Small>(highest - 1));
      for (const int tree : trees) {
        if (m_table.height(tree) < highest) {
          break;
        }
        if (!lower(tree, m_maxTrees)) {
          return;
        }
      }
    }
  }

  /// Each tree for itself: nothing else becomes higher than it is.
  void lowerEach() {
    m_limits.resize(m_table.treeCount());
    for (int tree = 0; tree < m_table.treeCount(); ++tree) {
      m_limits[tree] = static_cast<TreeTable::Small>(m_table.height(tree));
    }
    std::vector<int> trees = byHeight();
    while (!trees.empty() && !isSpent()) {
      std::erase_if(trees, [&](int tree) {
        if (isSpent() || m_table.height(tree) < 2 || !lower(tree, 0)) {
          return true;
        }
        m_limits[tree] = static_cast<TreeTable::Small>(m_table.height(tree));
        return false;
      });
    }
  }

private:
  [[nodiscard]] int64_t work() const { return m_table.work() + m_exchange.work(); }
  [[nodiscard]] bool isSpent() const { return work() > m_end; }

  [[nodiscard]] std::vector<int> byHeight() const {
    std::vector<int> trees(m_table.treeCount());
    std::iota(trees.begin(), trees.end(), 0);
    std::stable_sort(trees.begin(), trees.end(), [&](int a, int b) { return m_table.height(a) > m_table.height(b); });
    return trees;
  }

  /// All deepest nodes up by one; false when one of them is stuck. Trees are cut while there are fewer than maxTrees.
  bool lower(int tree, int maxTrees) {
    const int height = m_table.height(tree);
    std::vector<int> deepest;
    for (int node = 0; node < m_table.nodeCount(); ++node) {
      if (m_table.level(node, tree) == height) {
        deepest.push_back(node);
      }
    }
    for (const int node : deepest) {
      throwIfCancelled(m_progress);
      m_progress.spend(static_cast<std::uint64_t>(work() - m_spent));
      m_spent = work();
      for (int top = node; m_table.level(node, tree) == height;) {
        if (isSpent()) {
          return false;
        }
        m_limits.resize(m_table.treeCount(), static_cast<TreeTable::Small>(height - 1));
        m_exchange.open(top, m_limits);
        if (m_exchange.place({.tree = tree, .maxHeight = height - 1, .mayCut = m_table.treeCount() < maxTrees})) {
          break;
        }
        top = m_table.parent(top, tree);
        if (top == m_table.root(tree)) {
          return false;
        }
      }
    }
    return true;
  }

  TreeTable& m_table;
  ParentExchange m_exchange;
  const Progress& m_progress;
  int64_t m_end;
  int64_t m_spent = m_table.work();
  int m_maxTrees;
  std::vector<TreeTable::Small> m_limits;
};

/// Distance of the farthest node.
int farthest(const PackingProblem& problem, int root) {
  std::vector<std::vector<int>> next(problem.nodeCount);
  for (const TreeArc& arc : problem.arcs) {
    next[arc.tail].push_back(arc.head);
  }
  std::vector<int> distance(problem.nodeCount, -1);
  distance[root] = 0;
  std::vector<int> queue{root};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const int head : next[queue[i]]) {
      if (distance[head] < 0) {
        distance[head] = distance[queue[i]] + 1;
        queue.push_back(head);
      }
    }
  }
  return distance[queue.back()];
}

/// Of a tree's arcs, parents first.
int heightOf(const PackingProblem& problem, const PackedTree& tree, std::vector<int>& depth) {
  depth.resize(problem.nodeCount);
  depth[tree.root] = 0;
  int height = 0;
  for (const int arc : tree.arcs) {
    const TreeArc& ends = problem.arcs[arc];
    depth[ends.head] = depth[ends.tail] + 1;
    height = std::max(height, depth[ends.head]);
  }
  return height;
}

}  // namespace

void lowerTrees(const PackingProblem& problem, std::vector<PackedTree>& trees, const Progress& progress, int effort) {
  constexpr int64_t kSmall = int64_t{1} << 17;
  const int64_t cells = static_cast<int64_t>(trees.size()) * problem.nodeCount;
  if (effort < 1 || trees.empty() || problem.nodeCount < 3 ||
      !TreeTable::fits(problem, static_cast<int64_t>(trees.size()))) {
    return;
  }
  const bool isThorough = cells <= kSmall || effort > 1;
  std::vector<int> depth;
  int highest = 0;
  int highestRoot = 0;
  for (const PackedTree& tree : trees) {
    const int height = heightOf(problem, tree, depth);
    if (height > highest) {
      highest = height;
      highestRoot = tree.root;
    }
  }
  constexpr int kLow = 3;
  if (!isThorough && (highest <= kLow || 2 * highest <= 3 * farthest(problem, highestRoot))) {
    return;  // low enough for what it would cost
  }
  const int64_t count = static_cast<int64_t>(trees.size());
  const int maxTrees = static_cast<int>(isThorough && cells <= kSmall ? count + count / 8 : count);
  TreeTable table(problem, maxTrees);
  for (const PackedTree& tree : trees) {
    table.addTree(tree);
  }
  Lowering lowering(table, progress, (20'000 + 20 * cells) << std::min(2 * (effort - 1), 10), maxTrees);
  lowering.lowerHighest();
  if (isThorough) {
    lowering.lowerEach();
  }
  if (table.changes() == 0) {
    return;
  }
  trees.resize(table.treeCount());
  for (int tree = 0; tree < table.treeCount(); ++tree) {
    trees[tree] = table.tree(tree);
  }
}

}  // namespace coppice::forestcoll
