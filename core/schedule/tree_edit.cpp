// SPDX-License-Identifier: Apache-2.0
#include "schedule/tree_edit.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/failure.hpp"
#include "base/text.hpp"
#include "schedule/arc_finder.hpp"
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

void requirePlain(const Forest& forest) {
  if (std::ranges::any_of(forest.edges, [](const TreeEdge& edge) { return edge.pruned > 0; })) {
    refuse("switches copy or sum in these trees, which cannot be changed by hand", "generate with --plain-switches");
  }
}

/// @param trees how many there are
void requireNumbers(const Forest& forest, std::int64_t trees, const NewParent& change) {
  if (change.tree < 0 || change.tree >= trees) {
    refuse("there is no tree " + std::to_string(change.tree), "give one from 0 to " + std::to_string(trees - 1));
  }
  const auto isRank = [&](Rank rank) { return rank >= 0 && rank < forest.gpuCount; };
  if (!isRank(change.child) || !isRank(change.parent)) {
    refuse("there is no such rank", "give ranks from 0 to " + std::to_string(forest.gpuCount - 1));
  }
}

void requirePossible(const Fabric& fabric, Rank root, std::span<const TreeEdge> edges, const NewParent& change) {
  if (root == change.child) {
    refuse(nameOf(fabric, change.child) + " is the root of the tree and has no parent", "choose another GPU");
  }
  if (below(fabric.gpuCount(), edges, change.child)[change.parent]) {
    refuse(nameOf(fabric, change.parent) + " hangs below " + nameOf(fabric, change.child) +
               " in this tree and cannot become its parent",
           "choose a GPU that does not get the data through it");
  }
}

void requireChange(const Fabric& fabric, const TreeEdge& old, std::span<const NodeIndex> oldRoute,
                   const NewParent& change, std::span<const NodeIndex> route) {
  if (old.parent == change.parent && std::ranges::equal(oldRoute, route)) {
    refuse(nameOf(fabric, change.child) + " hangs there already, by this route", "choose another GPU or route");
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

/// Links of the route, into Fabric::arcs(). @pre the fabric has them
std::vector<std::int32_t> arcsOf(const ArcFinder& arcs, std::span<const NodeIndex> route) {
  std::vector<std::int32_t> result;
  for (std::size_t i = 0; i + 1 < route.size(); ++i) {
    result.push_back(arcs.find(route[i], route[i + 1]));
  }
  return result;
}

RouteChange changedRoute(const Fabric& fabric, const Forest& forest, const NewParent& change) {
  requirePlain(forest);
  TreeReader reader(forest);
  requireNumbers(forest, reader.size(), change);
  const TreeReader::View view = reader.read(change.tree);
  requirePossible(fabric, view.root, view.edges, change);
  const auto old = std::ranges::find(view.edges, change.child, &TreeEdge::child);
  const auto oldRoute = reader.path(*old);
  RouteChange result{routeOf(fabric, forest.direction, change), {}, {}};
  requireChange(fabric, *old, oldRoute, change, result.route);
  const ArcFinder arcs(fabric, Direction::out);
  result.freed = arcsOf(arcs, oldRoute);
  result.taken = arcsOf(arcs, result.route);
  return result;
}

EditedForest changed(const Fabric& fabric, const Forest& forest, const NewParent& change, const Progress& progress) {
  if (!forest.rotations.empty()) {
    refuse("trees that are images of others cannot be changed one by one", "write all trees first");
  }
  requirePlain(forest);
  requireNumbers(forest, std::ssize(forest.trees), change);
  const Tree tree = forest.trees[change.tree];
  const auto old = forest.edgesOf(tree);
  requirePossible(fabric, tree.root, old, change);
  std::vector<TreeEdge> edges(old.begin(), old.end());
  const auto edge = std::ranges::find(edges, change.child, &TreeEdge::child);
  const std::vector<NodeIndex> route = routeOf(fabric, forest.direction, change);
  requireChange(fabric, *edge, forest.paths[edge->path], change, route);
  EditedForest result{forest, change.tree};
  Forest& made = result.forest;
  *edge = {change.parent, change.child, made.paths.add(route), 0};
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

std::optional<std::int64_t> mirroredTree(const Forest& forest, std::int64_t tree, const Forest& other) {
  TreeReader reader(forest);
  TreeReader others(other);
  const TreeReader::View view = reader.read(tree);
  std::vector<const TreeEdge*> edgeTo(static_cast<std::size_t>(forest.gpuCount), nullptr);
  for (const TreeEdge& edge : view.edges) {
    edgeTo[edge.child] = &edge;
  }
  const auto isMirrored = [&](const TreeEdge& edge) {
    const TreeEdge& own = *edgeTo[edge.child];
    if (own.parent != edge.parent || own.pruned > 0 || edge.pruned > 0) {
      return false;
    }
    const auto there = reader.path(own);
    const auto back = others.path(edge);
    return std::equal(there.begin(), there.end(), back.rbegin(), back.rend());
  };
  for (std::int64_t i = 0; i < others.size(); ++i) {
    if (others.head(i).root == view.root) {
      const TreeReader::View candidate = others.read(i);
      if (std::ranges::all_of(candidate.edges, isMirrored)) {
        return i;
      }
    }
  }
  return std::nullopt;
}

Result<RouteChange> routeChange(const Fabric& fabric, const Forest& forest, const NewParent& change) {
  return guarded([&]() -> Result<RouteChange> { return changedRoute(fabric, forest, change); },
                 {.overflowFix = "use bandwidths with fewer digits"});
}

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
