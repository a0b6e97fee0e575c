// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::schedule {

/// Trees written out take at most this many bytes unless the caller says otherwise.
inline constexpr std::int64_t kMaxExpandedBytes = std::int64_t{8} << 30;

/// The same trees written out edge by edge in breadth-first order, equal routes shared. A forest without parts comes
/// back as it is. Errors: badInput (checkStructure's first fault), limit (more than maxBytes, or than there is
/// memory), overflow, cancelled.
[[nodiscard]] Result<Forest> expanded(const Forest& forest, const fabric::Fabric& fabric,
                                      std::int64_t maxBytes = kMaxExpandedBytes, const Progress& progress = {});
/// The same for a forest of a part: gpus are its nodes by rank, and all nodes are below nodeCount.
[[nodiscard]] Result<Forest> expanded(const Forest& forest, std::span<const fabric::NodeIndex> gpus, int nodeCount,
                                      std::int64_t maxBytes, const Progress& progress = {});

/// Reads the trees of a factored forest as expanded() would write them: edges in breadth-first order, equal routes
/// shared and numbered in the order of their first use. Memory grows with the different routes, not with the edges.
class WrittenTrees {
public:
  /// @param gpus by rank (Fabric::gpus())
  /// @pre the forest is factored and checkStructure finds no fault; both arguments must outlive this.
  WrittenTrees(const Forest& forest, std::span<const fabric::NodeIndex> gpus);

  [[nodiscard]] std::int64_t size() const { return m_reader.size(); }
  [[nodiscard]] TreeReader::View head(std::int64_t tree) const { return m_reader.head(tree); }
  /// Valid until the next call. Throws OverflowError where there are more routes than a PathId counts.
  std::span<const TreeEdge> read(std::int64_t tree);
  /// All routes of the trees read so far.
  [[nodiscard]] const PathPool& paths() const { return m_paths; }
  [[nodiscard]] PathPool takePaths() { return std::move(m_paths); }

private:
  [[nodiscard]] PathId routeOf(const TreeReader::Edge& edge);
  [[nodiscard]] PathId routeOf(std::span<const fabric::NodeIndex> path);
  [[nodiscard]] std::size_t slotOf(std::span<const fabric::NodeIndex> path) const;

  TreeReader m_reader;
  PathPool m_paths;
  /// Routes of edges met lately: trees repeat most of them, and an edge's pieces compare faster than its nodes.
  struct Recent {
    TreeReader::Edge edge;
    PathId route = -1;  ///< -1 = none yet
  };
  std::vector<Recent> m_recent;  ///< by child, then the last bits of the parent; empty where pieces are rotated
  std::vector<PathId> m_slots;   ///< hash table of the routes by their nodes, open addressing; a power of two
  std::vector<int> m_firstOf;    ///< by rank: its first edge as a parent
  std::vector<int> m_lastOf;
  std::vector<int> m_next;  ///< by edge: the next of the same parent
  std::vector<fabric::Rank> m_queue;
  std::vector<TreeEdge> m_edges;
};

}  // namespace coppice::schedule
