// SPDX-License-Identifier: Apache-2.0
#include "schedule/tree_edit.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/failure.hpp"
#include "base/text.hpp"
#include "schedule/link_loads.hpp"
#include "schedule/step_routes.hpp"

namespace coppice::schedule {
namespace {

using fabric::Fabric;
using fabric::NodeIndex;
using fabric::Rank;
using std::int64_t;

[[noreturn]] void refuse(std::string message, std::string fix, ErrorCode code = ErrorCode::badUsage) {
  throw Failure{{code, std::move(message), std::move(fix)}};
}

std::string nameOf(const Fabric& fabric, Rank rank) {
  return inQuotes(fabric.nodes()[fabric.gpus()[rank]].id);
}

/// By rank: whether it is the child or hangs below it. Edges list parents before children.
std::vector<bool> below(int gpuCount, std::span<const TreeEdge> edges, Rank child) {
  std::vector<bool> isBelow(static_cast<std::size_t>(gpuCount), false);
  isBelow[child] = true;
  for (const TreeEdge& edge : edges) {
    if (isBelow[edge.parent]) {
      isBelow[edge.child] = true;
    }
  }
  return isBelow;
}

void requirePossible(const Fabric& fabric, const Forest& forest, const NewParent& change) {
  if (!forest.rotations.empty()) {
    refuse("trees that are images of others cannot be changed one by one", "write all trees first");
  }
  if (std::ranges::any_of(forest.edges, [](const TreeEdge& edge) { return edge.pruned > 0; })) {
    refuse("switches copy or sum in these trees, which cannot be changed by hand", "generate with --plain-switches");
  }
  if (change.tree < 0 || change.tree >= std::ssize(forest.trees)) {
    refuse("there is no tree " + std::to_string(change.tree),
           "give one from 0 to " + std::to_string(std::ssize(forest.trees) - 1));
  }
  const auto isRank = [&](Rank rank) { return rank >= 0 && rank < forest.gpuCount; };
  if (!isRank(change.child) || !isRank(change.parent)) {
    refuse("there is no such rank", "give ranks from 0 to " + std::to_string(forest.gpuCount - 1));
  }
  const Tree& tree = forest.trees[change.tree];
  if (tree.root == change.child) {
    refuse(nameOf(fabric, change.child) + " is the root of the tree and has no parent", "choose another GPU");
  }
  if (below(forest.gpuCount, forest.edgesOf(tree), change.child)[change.parent]) {
    refuse(nameOf(fabric, change.parent) + " hangs below " + nameOf(fabric, change.child) +
               " in this tree and cannot become its parent",
           "choose a GPU that does not get the data through it");
  }
}

std::vector<NodeIndex> routeOf(const Fabric& fabric, Direction direction, const NewParent& change) {
  const bool isOut = direction == Direction::out;
  const NodeIndex from = fabric.gpus()[isOut ? change.parent : change.child];
  const NodeIndex to = fabric.gpus()[isOut ? change.child : change.parent];
  if (change.route.empty()) {
    PathPool pool;
    std::vector<NodeIndex> shortest = RouteFinder(fabric, pool).nodesBetween(from, to);
    if (shortest.empty()) {
      refuse("only other GPUs join " + nameOf(fabric, change.parent) + " and " + nameOf(fabric, change.child),
             "choose a parent that links and switches alone join to it", ErrorCode::infeasible);
    }
    return shortest;
  }
  const std::vector<NodeIndex>& route = change.route;
  bool isRoute = route.size() > 1 && route.front() == from && route.back() == to;
  for (std::size_t i = 0; isRoute && i + 1 < route.size(); ++i) {
    const bool isEnd = i == 0 || fabric.nodes()[route[i]].kind != fabric::NodeKind::gpu;
    isRoute = isEnd && fabric.findArc(route[i], route[i + 1]).has_value();
  }
  if (!isRoute) {
    refuse("the route does not lead through switches from " + inQuotes(fabric.nodes()[from].id) + " to " +
               inQuotes(fabric.nodes()[to].id),
           "name both GPUs and the switches between them in the order of the links");
  }
  return route;
}

/// The same edges, breadth first from the root.
std::vector<TreeEdge> breadthFirst(Rank root, int gpuCount, std::span<const TreeEdge> edges) {
  std::vector<std::vector<TreeEdge>> children(static_cast<std::size_t>(gpuCount));
  for (const TreeEdge& edge : edges) {
    children[edge.parent].push_back(edge);
  }
  std::vector<TreeEdge> ordered = children[root];
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const std::vector<TreeEdge>& next = children[ordered[i].child];
    ordered.insert(ordered.end(), next.begin(), next.end());
  }
  return ordered;
}

EditedForest changed(const Fabric& fabric, const Forest& forest, const NewParent& change, const Progress& progress) {
  requirePossible(fabric, forest, change);
  EditedForest result{forest, change.tree};
  Forest& made = result.forest;
  const Tree tree = forest.trees[change.tree];
  const PathId path = made.paths.add(routeOf(fabric, forest.direction, change));
  const auto old = forest.edgesOf(tree);
  std::vector<TreeEdge> edges(old.begin(), old.end());
  const auto edge = std::ranges::find(edges, change.child, &TreeEdge::child);
  *edge = {change.parent, change.child, path, 0};
  edges = breadthFirst(tree.root, forest.gpuCount, edges);
  if (tree.multiplicity == 1) {
    std::ranges::copy(edges, made.edges.begin() + tree.firstEdge);
  } else {
    --made.trees[change.tree].multiplicity;
    ++result.tree;
    made.trees.insert(made.trees.begin() + result.tree, {tree.root, 1, std::ssize(made.edges)});
    made.edges.insert(made.edges.end(), edges.begin(), edges.end());
  }
  made.scale = neededScale(fabric, made, progress);
  return result;
}

}  // namespace

Result<EditedForest> withNewParent(const Fabric& fabric, const Forest& forest, const NewParent& change,
                                   const Progress& progress) {
  return guarded([&]() -> Result<EditedForest> { return changed(fabric, forest, change, progress); },
                 {.overflowFix = "use bandwidths with fewer digits"});
}

std::vector<Rank> possibleParents(int gpuCount, std::span<const TreeEdge> edges, Rank child) {
  const std::vector<bool> isBelow = below(gpuCount, edges, child);
  const auto edge = std::ranges::find(edges, child, &TreeEdge::child);
  std::vector<Rank> parents;
  for (Rank rank = 0; edge != edges.end() && rank < gpuCount; ++rank) {
    if (!isBelow[rank] && rank != edge->parent) {
      parents.push_back(rank);
    }
  }
  return parents;
}

}  // namespace coppice::schedule
