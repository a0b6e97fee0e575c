// SPDX-License-Identifier: Apache-2.0
#include "schedule/expansion.hpp"

#include <algorithm>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::schedule {
namespace {

using fabric::NodeIndex;
using fabric::Rank;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

/// Ids of routes in the pool, equal ones found by their nodes. Open addressing.
class RouteIndex {
public:
  explicit RouteIndex(PathPool& paths) : m_paths(paths), m_slots(1024, kFree) {}

  PathId of(std::span<const NodeIndex> path) {
    std::size_t slot = slotOf(path);
    if (m_slots[slot] == kFree) {
      if (2 * at(std::int64_t{m_paths.size()} + 1) > m_slots.size()) {
        grow();
        slot = slotOf(path);
      }
      m_slots[slot] = m_paths.add(path);
    }
    return m_slots[slot];
  }

private:
  static constexpr PathId kFree = -1;

  [[nodiscard]] std::size_t slotOf(std::span<const NodeIndex> path) const {
    std::uint64_t hash = path.size();
    for (const NodeIndex node : path) {
      hash = (hash ^ static_cast<std::uint64_t>(node)) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 29;
    }
    std::size_t slot = hash & (m_slots.size() - 1);
    while (m_slots[slot] != kFree && !std::ranges::equal(m_paths[m_slots[slot]], path)) {
      slot = (slot + 1) & (m_slots.size() - 1);
    }
    return slot;
  }

  void grow() {
    m_slots.assign(m_slots.size() * 2, kFree);
    for (PathId id = 0; id < m_paths.size(); ++id) {
      m_slots[slotOf(m_paths[id])] = id;
    }
  }

  PathPool& m_paths;
  std::vector<PathId> m_slots;  ///< a power of two
};

/// Puts edges that list parents before children into breadth-first order; children keep their order.
class BreadthFirst {
public:
  explicit BreadthFirst(int gpuCount) : m_firstOf(at(gpuCount)), m_lastOf(at(gpuCount)), m_next(at(gpuCount)) {}

  /// Calls visit(edge) for all edges of the tree.
  template <typename Visit>
  void forEach(const TreeReader::View& tree, Visit&& visit) {
    std::fill(m_firstOf.begin(), m_firstOf.end(), -1);
    for (std::size_t i = 0; i < tree.edges.size(); ++i) {
      const std::size_t parent = at(tree.edges[i].parent);
      const int edge = static_cast<int>(i);
      if (m_firstOf[parent] < 0) {
        m_firstOf[parent] = edge;
      } else {
        m_next[at(m_lastOf[parent])] = edge;
      }
      m_lastOf[parent] = edge;
      m_next[i] = -1;
    }
    m_queue.clear();
    m_queue.push_back(tree.root);
    // NOLINTNEXTLINE(modernize-loop-convert): the queue grows under the loop
    for (std::size_t done = 0; done < m_queue.size(); ++done) {
      for (int edge = m_firstOf[at(m_queue[done])]; edge >= 0; edge = m_next[at(edge)]) {
        visit(tree.edges[at(edge)]);
        m_queue.push_back(tree.edges[at(edge)].child);
      }
    }
  }

private:
  std::vector<int> m_firstOf;  ///< by rank: its first edge as a parent; -1 = none
  std::vector<int> m_lastOf;
  std::vector<int> m_next;  ///< by edge: the next of the same parent
  std::vector<Rank> m_queue;
};

std::string gibibytes(std::int64_t bytes) {
  const std::int64_t tenths = bytes / ((std::int64_t{1} << 30) / 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

Forest expand(const Forest& forest, const fabric::Fabric& fabric, const Progress& progress) {
  Forest result;
  result.direction = forest.direction;
  result.gpuCount = forest.gpuCount;
  result.treesOfRoot = forest.treesOfRoot;
  result.scale = forest.scale;
  TreeReader reader(forest, fabric.gpus());
  RouteIndex routes(result.paths);
  BreadthFirst order(forest.gpuCount);
  result.trees.reserve(at(reader.size()));
  result.edges.reserve(at(sizeOf(forest).edges));
  for (std::int64_t tree = 0; tree < reader.size(); ++tree) {
    throwIfCancelled(progress);
    if ((tree & 0xff) == 0) {
      progress.report("expanding", static_cast<double>(tree) / static_cast<double>(reader.size()));
    }
    const TreeReader::View view = reader.read(tree);
    result.trees.push_back({view.root, view.multiplicity, static_cast<std::int64_t>(result.edges.size())});
    order.forEach(view, [&](const TreeReader::Edge& edge) {
      result.edges.push_back({edge.parent, edge.child, routes.of(reader.path(edge)), edge.pruned});
    });
  }
  return result;
}

}  // namespace

Result<Forest> expanded(const Forest& forest, const fabric::Fabric& fabric, std::int64_t mostBytes,
                        const Progress& progress) {
  try {
    if (!forest.factored) {
      return forest;
    }
    if (forest.gpuCount != fabric.gpuCount()) {
      return Error{ErrorCode::badInput, "the forest is made for " + std::to_string(forest.gpuCount) +
                                            " GPUs, the fabric has " + std::to_string(fabric.gpuCount())};
    }
    const auto findings = checkStructure(*forest.factored, fabric.gpuCount(), fabric.nodeCount(), progress);
    if (!findings.empty()) {
      const Finding& first = findings.front();
      return Error{first.code, first.text, first.fix, first.where};
    }
    const ForestSize size = sizeOf(forest);
    if (size.expandedBytes > mostBytes) {
      return Error{ErrorCode::limit,
                   "written out, the forest has " + std::to_string(size.trees) + " trees with " +
                       std::to_string(size.edges) + " edges and takes about " + gibibytes(size.expandedBytes) +
                       "; at most " + gibibytes(mostBytes) + " are free for it",
                   "keep it by its parts"};
    }
    return expand(forest, fabric, progress);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit,
                 "not enough memory to write out the trees, about " + gibibytes(sizeOf(forest).expandedBytes),
                 "keep the forest by its parts"};
  } catch (const OverflowError& error) {
    return Error{ErrorCode::overflow, error.what()};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "writing out the trees was cancelled"};
  }
}

}  // namespace coppice::schedule
