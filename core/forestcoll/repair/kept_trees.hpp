// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "base/rows.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

namespace coppice::forestcoll {

/// Trees of a forest, by number.
using LockedTrees = std::set<std::int64_t>;

/// The trees of an old forest that a changed fabric still has, with the ranks, nodes and arcs of that fabric (nodes are
/// the same where their ids are). A tree is unaffected where all its routes are still there; GPUs that are gone are
/// cut off where no GPU that is left hangs below them. Where an arc has lost a part of its bandwidth, its share of the
/// trees is taken to have used the rest, and the last ones are affected.
///
/// Copies of a tree are counted as its multiplicity does.
class KeptTrees {
public:
  struct Tree {
    fabric::Rank root = 0;
    std::int64_t copies = 0;  ///< that are kept
    std::int64_t source = 0;  ///< tree of the old forest
    std::int64_t firstEdge = 0;
    bool isRerouted = false;  ///< between the same GPUs along other links
  };
  /// How often a tree uses an arc.
  struct Use {
    std::int32_t tree = 0;
    std::int32_t arc = 0;
    std::int32_t times = 0;
  };

  /// @pre an out-forest of `before` whose trees are all written, without pruned edges
  /// @param locked the only trees that may stay; nullptr = all
  KeptTrees(const fabric::Fabric& before, const schedule::Forest& old, const fabric::Fabric& after,
            const LockedTrees* locked = nullptr);

  [[nodiscard]] int gpuCount() const { return m_gpuCount; }
  [[nodiscard]] std::span<const Tree> trees() const { return m_trees; }
  [[nodiscard]] std::span<const schedule::TreeEdge> edgesOf(const Tree& tree) const {
    return {m_edges.data() + tree.firstEdge, static_cast<std::size_t>(m_gpuCount - 1)};
  }
  [[nodiscard]] const schedule::PathPool& paths() const { return m_paths; }
  [[nodiscard]] std::span<const Use> usesOfTree(std::size_t tree) const { return m_usesByTree[tree]; }
  [[nodiscard]] std::span<const Use> usesOfArc(std::size_t arc) const { return m_usesByArc[arc]; }
  /// Copies on each arc.
  [[nodiscard]] const std::vector<std::int64_t>& load() const { return m_load; }
  /// By rank: copies that the old forest had of this root and that are not kept.
  [[nodiscard]] const std::vector<std::int64_t>& lost() const { return m_lost; }
  [[nodiscard]] std::int64_t lostCopies() const { return m_lostCopies; }
  /// Of the roots that are still there, kept or lost.
  [[nodiscard]] std::int64_t allCopies() const { return m_allCopies; }

  /// Takes lost copies back along other routes between the same GPUs, as far as there is room beside all others. A
  /// limit of work keeps this short. Throws CancelledError.
  /// @param room by arc: copies that it may carry
  void reroute(const fabric::Fabric& before, const schedule::Forest& old, const fabric::Fabric& after,
               std::span<const std::int64_t> room, const Progress& progress);

  /// Gives up that many copies of a tree. @pre it has them
  void release(std::size_t tree, std::int64_t copies);

private:
  struct Rerouting;

  void addTrees(const fabric::Fabric& before, const schedule::Forest& old, const fabric::Fabric& after,
                const LockedTrees* locked);
  void indexUses();
  void addRerouted(const schedule::Forest& old, std::size_t tree, std::int64_t copies, Rerouting& rerouting);
  void releaseLostBandwidth(const fabric::Fabric& before, const schedule::Forest& old, const fabric::Fabric& after);

  int m_gpuCount = 0;
  std::vector<Use> m_uses;
  std::vector<Tree> m_trees;
  std::vector<schedule::TreeEdge> m_edges;
  schedule::PathPool m_paths;
  Rows<Use> m_usesByTree;
  Rows<Use> m_usesByArc;
  std::vector<std::int64_t> m_load;
  std::vector<std::int64_t> m_lost;
  std::int64_t m_lostCopies = 0;
  std::int64_t m_allCopies = 0;
};

}  // namespace coppice::forestcoll
