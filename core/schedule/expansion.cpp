// SPDX-License-Identifier: Apache-2.0
#include "schedule/expansion.hpp"

#include <algorithm>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "schedule/rotation.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::schedule {
namespace {

using fabric::NodeIndex;

constexpr PathId kFree = -1;
constexpr int kRecentParents = 8;

std::string gibibytes(std::int64_t bytes) {
  const std::int64_t tenths = bytes / ((std::int64_t{1} << 30) / 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

Forest expand(const Forest& forest, std::span<const NodeIndex> gpus, const Progress& progress) {
  Forest result;
  result.direction = forest.direction;
  result.gpuCount = forest.gpuCount;
  result.treesOfRoot = forest.treesOfRoot;
  result.scale = forest.scale;
  WrittenTrees trees(forest, gpus);
  result.trees.reserve(trees.size());
  result.edges.reserve(sizeOf(forest).edges);
  for (std::int64_t tree = 0; tree < trees.size(); ++tree) {
    throwIfCancelled(progress);
    if ((tree & 0xff) == 0) {
      progress.report("expanding", static_cast<double>(tree) / static_cast<double>(trees.size()));
    }
    const TreeReader::View head = trees.head(tree);
    result.trees.push_back({head.root, head.multiplicity, static_cast<std::int64_t>(result.edges.size())});
    const auto edges = trees.read(tree);
    result.edges.insert(result.edges.end(), edges.begin(), edges.end());
  }
  result.paths = trees.takePaths();
  return result;
}

}  // namespace

WrittenTrees::WrittenTrees(const Forest& forest, std::span<const NodeIndex> gpus)
    : m_reader(forest, gpus),
      m_recent(isRotated(*forest.factored) ? 0 : static_cast<std::size_t>(forest.gpuCount) * kRecentParents),
      m_slots(1024, kFree),
      m_firstOf(static_cast<std::size_t>(forest.gpuCount)),
      m_lastOf(static_cast<std::size_t>(forest.gpuCount)),
      m_next(static_cast<std::size_t>(forest.gpuCount)) {}

std::span<const TreeEdge> WrittenTrees::read(std::int64_t tree) {
  const TreeReader::View view = m_reader.read(tree);
  std::fill(m_firstOf.begin(), m_firstOf.end(), -1);
  for (std::size_t i = 0; i < view.edges.size(); ++i) {
    const std::size_t parent = static_cast<std::size_t>(view.edges[i].parent);
    const int edge = static_cast<int>(i);
    if (m_firstOf[parent] < 0) {
      m_firstOf[parent] = edge;
    } else {
      m_next[m_lastOf[parent]] = edge;
    }
    m_lastOf[parent] = edge;
    m_next[i] = -1;
  }
  m_edges.clear();
  m_queue.assign(1, view.root);
  // NOLINTNEXTLINE(modernize-loop-convert): the queue grows under the loop
  for (std::size_t done = 0; done < m_queue.size(); ++done) {
    for (int i = m_firstOf[m_queue[done]]; i >= 0; i = m_next[i]) {
      const TreeReader::Edge& edge = view.edges[i];
      m_edges.push_back({edge.parent, edge.child, routeOf(edge), edge.pruned});
      m_queue.push_back(edge.child);
    }
  }
  return m_edges;
}

PathId WrittenTrees::routeOf(const TreeReader::Edge& edge) {
  if (m_recent.empty()) {
    return routeOf(m_reader.path(edge));
  }
  Recent& recent = m_recent[static_cast<std::size_t>(edge.child) * kRecentParents + edge.parent % kRecentParents];
  const TreeReader::Edge& known = recent.edge;
  if (recent.route < 0 || known.parent != edge.parent || known.out != edge.out || known.between != edge.between ||
      known.in != edge.in) {
    recent = {edge, routeOf(m_reader.path(edge))};
  }
  return recent.route;
}

PathId WrittenTrees::routeOf(std::span<const NodeIndex> path) {
  std::size_t slot = slotOf(path);
  if (m_slots[slot] == kFree) {
    if (2 * static_cast<std::size_t>(std::int64_t{m_paths.size()} + 1) > m_slots.size()) {
      m_slots.assign(m_slots.size() * 2, kFree);
      for (PathId id = 0; id < m_paths.size(); ++id) {
        m_slots[slotOf(m_paths[id])] = id;
      }
      slot = slotOf(path);
    }
    m_slots[slot] = m_paths.add(path);
  }
  return m_slots[slot];
}

std::size_t WrittenTrees::slotOf(std::span<const NodeIndex> path) const {
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

Result<Forest> expanded(const Forest& forest, const fabric::Fabric& fabric, std::int64_t maxBytes,
                        const Progress& progress) {
  return expanded(forest, fabric.gpus(), fabric.nodeCount(), maxBytes, progress);
}

Result<Forest> expanded(const Forest& forest, std::span<const NodeIndex> gpus, int nodeCount, std::int64_t maxBytes,
                        const Progress& progress) {
  try {
    if (!forest.factored) {
      return forest;
    }
    const auto count = static_cast<int>(gpus.size());
    if (forest.gpuCount != count) {
      return Error{ErrorCode::badInput, "the forest is made for " + std::to_string(forest.gpuCount) +
                                            " GPUs, the fabric has " + std::to_string(count)};
    }
    const auto findings = checkStructure(*forest.factored, count, nodeCount, progress);
    if (!findings.empty()) {
      const Finding& first = findings.front();
      return Error{first.code, first.text, first.fix, first.where};
    }
    const ForestSize size = sizeOf(forest);
    if (size.expandedBytes > maxBytes) {
      return Error{ErrorCode::limit,
                   "written out, the forest has " + std::to_string(size.trees) + " trees with " +
                       std::to_string(size.edges) + " edges and takes about " + gibibytes(size.expandedBytes) +
                       "; at most " + gibibytes(maxBytes) + " are free for it",
                   "store it by its parts"};
    }
    return expand(forest, gpus, progress);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit,
                 "not enough memory to write out the trees, about " + gibibytes(sizeOf(forest).expandedBytes),
                 "store the forest by its parts"};
  } catch (const OverflowError& error) {
    return Error{ErrorCode::overflow, error.what()};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "writing out the trees was cancelled"};
  }
}

}  // namespace coppice::schedule
