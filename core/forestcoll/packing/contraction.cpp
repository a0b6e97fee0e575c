// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/packing/contraction.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "forestcoll/network.hpp"

namespace coppice::forestcoll {

using std::int64_t;

Contraction::Contraction(const PackingProblem& problem, const std::vector<std::vector<int>>& family)
    : m_problem(problem) {
  contractNodes(family);
  splitArcs();
  bundleArcs();
}

void Contraction::contractNodes(const std::vector<std::vector<int>>& family) {
  const auto n = static_cast<std::size_t>(m_problem.nodeCount);
  m_setOf.assign(n, -1);
  m_innerIndex.assign(n, 0);
  m_sets.resize(family.size());
  for (std::size_t f = 0; f < family.size(); ++f) {
    Set& set = m_sets[f];
    set.nodes = family[f];
    set.problem.nodeCount = static_cast<int>(set.nodes.size());
    for (int i = 0; i < set.problem.nodeCount; ++i) {
      m_setOf[set.nodes[i]] = static_cast<int>(f);
      m_innerIndex[set.nodes[i]] = i;
      set.problem.supply.push_back(m_problem.supply[set.nodes[i]]);
    }
  }
  // Outer nodes in the order of first appearance keeps rank order.
  m_outerOf.assign(n, -1);
  std::vector<int> outerOfSet(family.size(), -1);
  for (int v = 0; v < m_problem.nodeCount; ++v) {
    const int set = m_setOf[v];
    if (set >= 0 && outerOfSet[set] >= 0) {
      m_outerOf[v] = outerOfSet[set];
    } else {
      m_outerOf[v] = static_cast<int>(m_outerSet.size());
      m_outerSet.push_back(set);
      m_outerNode.push_back(set >= 0 ? -1 : v);
      m_outer.supply.push_back(0);
      if (set >= 0) {
        outerOfSet[set] = m_outerOf[v];
      }
    }
    m_outer.supply[m_outerOf[v]] += m_problem.supply[v];
  }
  m_outer.nodeCount = static_cast<int>(m_outerSet.size());
}

void Contraction::splitArcs() {
  for (std::size_t i = 0; i < m_problem.arcs.size(); ++i) {
    const TreeArc& arc = m_problem.arcs[i];
    const int from = m_setOf[arc.tail];
    const int to = m_setOf[arc.head];
    if (from >= 0 && from == to) {
      m_sets[to].problem.arcs.push_back({m_innerIndex[arc.tail], m_innerIndex[arc.head], arc.capacity});
      m_sets[to].arcOf.push_back(static_cast<int>(i));
    } else {
      m_crossing.push_back(static_cast<int>(i));
      if (to >= 0) {
        m_sets[to].problem.supply[m_innerIndex[arc.head]] += arc.capacity;
      }
    }
  }
}

void Contraction::bundleArcs() {
  const auto outerKey = [&](int arc) {
    return std::pair(m_outerOf[m_problem.arcs[arc].tail], m_outerOf[m_problem.arcs[arc].head]);
  };
  std::stable_sort(m_crossing.begin(), m_crossing.end(), [&](int a, int b) { return outerKey(a) < outerKey(b); });
  for (std::size_t i = 0; i < m_crossing.size(); ++i) {
    const int64_t capacity = m_problem.arcs[m_crossing[i]].capacity;
    if (i == 0 || outerKey(m_crossing[i]) != outerKey(m_crossing[i - 1])) {
      m_bundleStart.push_back(static_cast<int>(i));
      const auto [tail, head] = outerKey(m_crossing[i]);
      m_outer.arcs.push_back({tail, head, capacity});
    } else {
      m_outer.arcs.back().capacity += capacity;
    }
  }
  m_bundleStart.push_back(static_cast<int>(m_crossing.size()));
}

/// Composes one bunch of equal trees after the other. A bunch splits where a choice has not enough copies for it.
class Composition {
public:
  using Trees = Contraction::Trees;

  Composition(const Contraction& parts, const Trees& outer, const std::vector<std::shared_ptr<const Trees>>& inner,
              const Progress& progress)
      : m_parts(parts),
        m_problem(parts.m_problem),
        m_outer(outer),
        m_progress(progress),
        m_depth(static_cast<std::size_t>(parts.m_problem.nodeCount), 0) {
    for (const TreeArc& arc : m_problem.arcs) {
      m_arcLeft.push_back(arc.capacity);
    }
    for (std::size_t f = 0; f < inner.size(); ++f) {
      Stock stock;
      stock.trees = inner[f];
      stock.treesAt.resize(parts.m_sets[f].nodes.size());
      for (const int node : parts.m_sets[f].nodes) {
        stock.ownLeft.push_back(m_problem.supply[node]);
      }
      for (std::size_t t = 0; t < inner[f]->size(); ++t) {
        stock.left.push_back((*inner[f])[t].multiplicity);
        stock.treesAt[(*inner[f])[t].root].push_back(static_cast<int>(t));
      }
      m_stock.push_back(std::move(stock));
    }
  }

  Trees run() {
    Trees trees;
    for (std::size_t t = 0; t < m_outer.size(); ++t) {
      m_stack.push_back({t, m_outer[t].multiplicity, {}});
      while (!m_stack.empty()) {
        throwIfCancelled(m_progress);
        trees.push_back(next());
      }
    }
    return trees;
  }

private:
  /// What is left of the trees inside one set.
  struct Stock {
    std::shared_ptr<const Trees> trees;
    std::vector<int64_t> left;              // copies of each inner tree not yet used
    std::vector<std::vector<int>> treesAt;  // by inner node: trees rooted there
    std::vector<int64_t> ownLeft;           // by inner node: supply not yet used as a root
  };

  /// Choices made so far for a bunch of equal trees: the root (if its outer root is a set), then per outer arc a
  /// concrete arc and, where it enters a set, an inner tree; in the order the walk asks.
  struct Piece {
    std::size_t outerTree = 0;
    int64_t multiplicity = 0;
    std::vector<int> decisions;
  };

  /// The tree of the bunch on top of the stack, for as many copies as all its choices allow.
  PackedTree next() {
    m_piece = std::move(m_stack.back());
    m_stack.pop_back();
    m_replayed = m_piece.decisions.size();
    m_asked = 0;
    m_charged.clear();
    m_tree = {};
    m_tree.arcs.reserve(static_cast<std::size_t>(m_problem.nodeCount) - 1);
    const PackedTree& skeleton = m_outer[m_piece.outerTree];
    attachRoot(skeleton.root);
    for (const int outerArc : skeleton.arcs) {
      attachArc(outerArc);
    }
    for (int64_t* left : m_charged) {
      *left -= m_piece.multiplicity;
    }
    m_tree.multiplicity = m_piece.multiplicity;
    return std::move(m_tree);
  }

  /// The next decision: as before for a bunch that was split, else `find()`, of which `left[choice]` copies are there.
  /// Copies that do not fit go back on the stack with the choices so far.
  template <typename Find>
  int decide(std::vector<int64_t>& left, const char* lack, Find find) {
    int choice = -1;
    // Resources of replayed decisions were granted for the larger piece already.
    if (m_asked < m_replayed) {
      choice = m_piece.decisions[m_asked];
    } else {
      choice = find();
      if (choice < 0) {
        throw Failure{{ErrorCode::internal, std::string("composition ran out of ") + lack}};
      }
      if (left[choice] < m_piece.multiplicity) {
        m_stack.push_back({m_piece.outerTree, m_piece.multiplicity - left[choice], m_piece.decisions});
        m_piece.multiplicity = left[choice];
      }
      m_piece.decisions.push_back(choice);
    }
    ++m_asked;
    m_charged.push_back(&left[choice]);
    return choice;
  }

  /// Of the candidates with copies left, the first with exactly as many as are wanted, else the first with the most.
  template <typename Candidates>
  [[nodiscard]] int bestFit(const Candidates& candidates, const std::vector<int64_t>& left) const {
    int best = -1;
    for (const int candidate : candidates) {
      if (left[candidate] == m_piece.multiplicity) {
        return candidate;
      }
      if (left[candidate] > 0 && (best < 0 || left[candidate] > left[best])) {
        best = candidate;
      }
    }
    return best;
  }

  void attachRoot(int outerRoot) {
    const int set = m_parts.m_outerSet[outerRoot];
    if (set < 0) {
      m_tree.root = m_parts.m_outerNode[outerRoot];
      m_depth[m_tree.root] = 0;
      return;
    }
    std::vector<int64_t>& ownLeft = m_stock[set].ownLeft;
    const int choice = decide(ownLeft, "roots", [&] {
      std::vector<int> candidates(ownLeft.size());
      std::iota(candidates.begin(), candidates.end(), 0);
      return bestFit(candidates, ownLeft);
    });
    m_tree.root = m_parts.m_sets[set].nodes[choice];
    m_depth[m_tree.root] = 0;
    attachInnerTree(set, choice);
  }

  void attachArc(int outerArc) {
    const int choice = decide(m_arcLeft, "capacity between sets", [&] {
      // Shallow tails keep trees low; among equals the one that needs no split.
      const auto rank = [&](int candidate) {
        return std::pair(m_depth[m_problem.arcs[candidate].tail],
                         -std::min(m_arcLeft[candidate], m_piece.multiplicity));
      };
      int best = -1;
      for (int i = m_parts.m_bundleStart[outerArc]; i < m_parts.m_bundleStart[outerArc + 1]; ++i) {
        const int arc = m_parts.m_crossing[i];
        if (m_arcLeft[arc] != 0 && (best < 0 || rank(arc) < rank(best))) {
          best = arc;
        }
      }
      return best;
    });
    attach(choice);
    const int headSet = m_parts.m_outerSet[m_parts.m_outer.arcs[outerArc].head];
    if (headSet >= 0) {
      attachInnerTree(headSet, m_parts.m_innerIndex[m_problem.arcs[choice].head]);
    }
  }

  void attachInnerTree(int set, int root) {
    Stock& stock = m_stock[set];
    const int choice = decide(stock.left, "inner trees", [&] { return bestFit(stock.treesAt[root], stock.left); });
    for (const int arc : (*stock.trees)[choice].arcs) {
      attach(m_parts.m_sets[set].arcOf[arc]);
    }
  }

  void attach(int arc) {
    m_tree.arcs.push_back(arc);
    m_depth[m_problem.arcs[arc].head] = m_depth[m_problem.arcs[arc].tail] + 1;
  }

  const Contraction& m_parts;
  const PackingProblem& m_problem;
  const Trees& m_outer;
  const Progress& m_progress;
  std::vector<int64_t> m_arcLeft;
  std::vector<Stock> m_stock;  // by set
  std::vector<int> m_depth;
  std::vector<Piece> m_stack;
  Piece m_piece;
  std::size_t m_replayed = 0;
  std::size_t m_asked = 0;
  std::vector<int64_t*> m_charged;
  PackedTree m_tree;
};

Contraction::Trees Contraction::compose(const Trees& outer, const std::vector<std::shared_ptr<const Trees>>& inner,
                                        const Progress& progress) const {
  return Composition(*this, outer, inner, progress).run();
}

}  // namespace coppice::forestcoll
