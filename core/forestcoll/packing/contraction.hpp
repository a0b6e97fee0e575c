// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/tree_packing.hpp"

namespace coppice::forestcoll {

/// A packing problem split at disjoint tight sets. A tight set Q has in(Q) = K - r(Q), so every outer tree that starts
/// outside enters Q exactly once, and any inner tree rooted at its entry node may continue it: the outer problem with Q
/// contracted and the inner problem with the entering capacity added to the supplies are solved apart and composed
/// freely.
class Contraction {
public:
  using Trees = std::vector<PackedTree>;

  /// @pre the sets are tight, disjoint, ascending, of two nodes or more and not all nodes; the problem outlives this
  Contraction(const PackingProblem& problem, const std::vector<std::vector<int>>& family);

  /// Each set contracted to one node.
  [[nodiscard]] const PackingProblem& outer() const { return m_outer; }
  [[nodiscard]] std::size_t setCount() const { return m_sets.size(); }
  /// Inside one set.
  [[nodiscard]] const PackingProblem& inner(std::size_t set) const { return m_sets[set].problem; }

  /// The trees of the whole from those of outer() and, by set, of inner(). Throws Failure (internal), CancelledError.
  [[nodiscard]] Trees compose(const Trees& outer, const std::vector<std::shared_ptr<const Trees>>& inner,
                              const Progress& progress) const;

private:
  friend class Composition;
  struct Set {
    std::vector<int> nodes;  // of the whole problem
    std::vector<int> arcOf;  // inner arc -> arc of the whole problem
    PackingProblem problem;
  };

  void contractNodes(const std::vector<std::vector<int>>& family);
  void splitArcs();
  void bundleArcs();

  const PackingProblem& m_problem;
  std::vector<int> m_setOf;       // node -> set, or -1
  std::vector<int> m_innerIndex;  // node -> node within its set
  std::vector<int> m_outerOf;     // node -> outer node
  std::vector<int> m_outerSet;    // outer node -> set, or -1
  std::vector<int> m_outerNode;   // outer node -> node, when it is not a set
  std::vector<Set> m_sets;
  PackingProblem m_outer;
  // Arcs between outer nodes; those from m_bundleStart[a] on make the outer arc a.
  std::vector<int> m_crossing;
  std::vector<int> m_bundleStart;
};

}  // namespace coppice::forestcoll
