// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/packing/tree_table.hpp"

#include <algorithm>
#include <numeric>

namespace coppice::forestcoll {
using std::int64_t;

bool TreeTable::fits(const PackingProblem& problem, int64_t trees) {
  constexpr int64_t kMaxCells = int64_t{1} << 27;
  return problem.nodeCount <= kMaxNodes && (trees + 64) * problem.nodeCount <= kMaxCells;
}

TreeTable::TreeTable(const PackingProblem& problem, int maxTrees)
    : m_problem(problem),
      m_in(numbersByRow<int>(problem.nodeCount, problem.arcs, &TreeArc::head)),
      m_out(numbersByRow<int>(problem.nodeCount, problem.arcs, &TreeArc::tail)),
      m_place(problem.arcs.size()),
      m_stride((static_cast<std::size_t>(maxTrees) + 63) / 64 * 64) {
  for (const TreeArc& arc : problem.arcs) {
    m_room.push_back(arc.capacity);
  }
  for (int node = 0; node < problem.nodeCount; ++node) {
    Small place = 0;
    for (const int arc : arcsInto(node)) {
      m_place[arc] = place++;
    }
  }
  const std::size_t cells = static_cast<std::size_t>(problem.nodeCount) * m_stride;
  m_level.assign(cells, kUnplaced);
  m_below.assign(cells, 0);
  m_parent.assign(cells, kNoParent);
  m_missing.assign(problem.nodeCount, 0);
}

int TreeTable::addTree(int root, int64_t copies) {
  if (m_root.size() == m_stride) {
    widen();
  }
  const int tree = treeCount();
  m_root.push_back(root);
  m_copies.push_back(copies);
  m_level[cell(root, tree)] = 0;
  m_parent[cell(root, tree)] = kIsRoot;
  for (int& missing : m_missing) {
    ++missing;
  }
  --m_missing[root];
  m_missingCount += nodeCount() - 1;
  return tree;
}

int TreeTable::addTree(const PackedTree& tree) {
  const int added = addTree(tree.root, tree.multiplicity);
  for (const int arc : tree.arcs) {
    const TreeArc& ends = m_problem.arcs[arc];
    m_level[cell(ends.head, added)] = static_cast<Small>(level(ends.tail, added) + 1);
    m_parent[cell(ends.head, added)] = m_place[arc];
    m_room[arc] -= tree.multiplicity;
    --m_missing[ends.head];
    --m_missingCount;
  }
  for (std::size_t i = tree.arcs.size(); i-- > 0;) {
    const TreeArc& ends = m_problem.arcs[tree.arcs[i]];
    Small& above = m_below[cell(ends.tail, added)];
    above = std::max(above, static_cast<Small>(below(ends.head, added) + 1));
  }
  return added;
}

int TreeTable::split(int tree, int64_t part) {
  if (m_root.size() == m_stride) {
    widen();
  }
  const int fresh = treeCount();
  m_root.push_back(root(tree));
  m_copies[tree] -= part;
  m_copies.push_back(part);
  for (int node = 0; node < nodeCount(); ++node) {
    const std::size_t from = cell(node, tree);
    const std::size_t to = cell(node, fresh);
    m_level[to] = m_level[from];
    m_below[to] = m_below[from];
    m_parent[to] = m_parent[from];
    if (m_parent[from] == kNoParent) {
      ++m_missing[node];
      ++m_missingCount;
    }
  }
  m_work += nodeCount();
  return fresh;
}

bool TreeTable::isUnder(int tree, int node, int top) const {
  const int topLevel = level(top, tree);
  while (level(node, tree) > topLevel) {
    ++m_work;
    if (isMissing(node, tree)) {
      return false;
    }
    node = parent(node, tree);
  }
  return node == top;
}

void TreeTable::detach(int node, int tree) {
  const int arc = arcsInto(node)[m_parent[cell(node, tree)]];
  m_parent[cell(node, tree)] = kNoParent;
  m_room[arc] += copies(tree);
  ++m_missing[node];
  ++m_missingCount;
  // Heights above, as far as they were owed to this node.
  int was = below(node, tree) + 1;
  for (int up = tailOf(arc); below(up, tree) == was; up = parent(up, tree)) {
    int height = 0;
    for (const int out : arcsFrom(up)) {
      if (isChild(out, tree)) {
        height = std::max(height, below(m_problem.arcs[out].head, tree) + 1);
      }
    }
    m_work += static_cast<int64_t>(arcsFrom(up).size());
    if (height == was) {
      return;
    }
    m_below[cell(up, tree)] = static_cast<Small>(height);
    ++was;
    if (m_parent[cell(up, tree)] >= kIsRoot) {
      return;
    }
  }
}

void TreeTable::attach(int node, int tree, int place) {
  const int arc = arcsInto(node)[place];
  ++m_changes;
  m_parent[cell(node, tree)] = static_cast<Small>(place);
  m_room[arc] -= copies(tree);
  --m_missing[node];
  --m_missingCount;
  const int shift = level(tailOf(arc), tree) + 1 - level(node, tree);
  if (below(node, tree) == 0) {
    m_level[cell(node, tree)] = static_cast<Small>(level(node, tree) + shift);
  } else if (shift != 0) {
    m_stack.assign(1, node);
    while (!m_stack.empty()) {
      const int top = m_stack.back();
      m_stack.pop_back();
      m_level[cell(top, tree)] = static_cast<Small>(level(top, tree) + shift);
      if (below(top, tree) == 0) {
        continue;
      }
      for (const int out : arcsFrom(top)) {
        if (isChild(out, tree)) {
          m_stack.push_back(m_problem.arcs[out].head);
        }
      }
      m_work += static_cast<int64_t>(arcsFrom(top).size());
    }
  }
  int height = below(node, tree) + 1;
  for (int up = tailOf(arc); below(up, tree) < height; up = parent(up, tree)) {
    ++m_work;
    m_below[cell(up, tree)] = static_cast<Small>(height++);
    if (m_parent[cell(up, tree)] >= kIsRoot) {
      return;
    }
  }
}

void TreeTable::widen() {
  const std::size_t wider = m_stride + std::max<std::size_t>(64, m_stride / 4 / 64 * 64);
  const auto relay = [&](std::vector<Small>& table, Small value) {
    std::vector<Small> copy(static_cast<std::size_t>(nodeCount()) * wider, value);
    for (std::size_t row = 0; row < static_cast<std::size_t>(nodeCount()); ++row) {
      std::copy_n(table.begin() + static_cast<std::ptrdiff_t>(row * m_stride), m_stride,
                  copy.begin() + static_cast<std::ptrdiff_t>(row * wider));
    }
    table = std::move(copy);
  };
  relay(m_level, kUnplaced);
  relay(m_below, 0);
  relay(m_parent, kNoParent);
  m_stride = wider;
}

PackedTree TreeTable::tree(int tree) const {
  PackedTree packed{root(tree), copies(tree), {}};
  std::vector<int> start;  // places of the arcs by level of their heads
  for (int node = 0; node < nodeCount(); ++node) {
    if (place(node, tree) < kIsRoot) {
      const std::size_t next = static_cast<std::size_t>(level(node, tree)) + 1;
      if (start.size() <= next) {
        start.resize(next + 1, 0);
      }
      ++start[next];
    }
  }
  std::partial_sum(start.begin(), start.end(), start.begin());
  packed.arcs.resize(start.empty() ? 0 : static_cast<std::size_t>(start.back()));
  for (int node = 0; node < nodeCount(); ++node) {
    if (place(node, tree) < kIsRoot) {
      packed.arcs[start[level(node, tree)]++] = arcsInto(node)[place(node, tree)];
    }
  }
  return packed;
}

}  // namespace coppice::forestcoll
