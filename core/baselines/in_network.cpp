// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "baselines/builder.hpp"
#include "forestcoll/forestcoll.hpp"

/// What NVLS and SHARP do: every GPU sends its shard once, and switches that are marked capable copy it to the others
/// (or sum it up). Each root has one star; capable switches take its common links once.
namespace coppice::baselines {
namespace {

using fabric::Rank;
using schedule::Direction;
using schedule::Forest;

Forest stars(const fabric::Fabric& fabric, const Request& request, Direction direction) {
  Forest forest;
  forest.direction = direction;
  forest.gpuCount = fabric.gpuCount();
  schedule::RouteFinder finder(fabric, forest.paths);
  forest.treesOfRoot.assign(forest.gpuCount, isRooted(request.collective) ? 0 : 1);
  if (request.root) {
    forest.treesOfRoot[*request.root] = 1;
  }
  for (Rank root = 0; root < forest.gpuCount; ++root) {
    if (forest.treesOfRoot[root] == 0) {
      continue;
    }
    forest.trees.push_back({root, 1, static_cast<std::int64_t>(forest.edges.size())});
    for (int hop = 1; hop < forest.gpuCount; ++hop) {
      const Rank other = (root + hop) % forest.gpuCount;
      const schedule::PathId route =
          direction == Direction::out ? finder.route(root, other) : finder.route(other, root);
      if (route == schedule::kNoRoute) {
        throw Failure{Error{ErrorCode::infeasible, "In-network collectives need switches between all GPUs",
                            "choose multitree or blink"}};
      }
      forest.edges.push_back({root, other, route});
    }
  }
  forestcoll::pruneInNetwork(fabric, forest);
  return forest;
}

/// Trees per GB/s of the busiest link.
InverseBandwidth busiest(const fabric::Fabric& fabric, const Forest& forest) {
  std::vector<std::int64_t> load(fabric.arcs().size(), 0);
  for (const schedule::TreeEdge& edge : forest.edges) {
    const auto path = forest.paths[edge.path];
    const auto links = static_cast<int>(path.size()) - 1;
    const bool isOut = forest.direction == Direction::out;
    for (int link = isOut ? edge.pruned : 0; link < (isOut ? links : links - edge.pruned); ++link) {
      ++load[*fabric.findArc(path[link], path[link + 1])];
    }
  }
  InverseBandwidth max;
  for (std::size_t arc = 0; arc < load.size(); ++arc) {
    max = std::max(max, Rational(load[arc]) / fabric.arcs()[arc].bandwidth);
  }
  return max;
}

}  // namespace

schedule::AnySchedule inNetwork(const fabric::Fabric& fabric, const Request& request, const Progress& progress) {
  const auto nodes = fabric.nodes();
  const bool needsSums = reduces(request.collective);
  const bool needsCopies = !needsSums || request.collective == Collective::allreduce;
  const bool sums = std::any_of(nodes.begin(), nodes.end(), [](const fabric::Node& node) { return node.aggregation; });
  const bool copies = std::any_of(nodes.begin(), nodes.end(), [](const fabric::Node& node) { return node.multicast; });
  if ((needsSums && !sums) || (needsCopies && !copies)) {
    throw Failure{
        Error{ErrorCode::infeasible,
              std::string("No switch is marked as capable of ") + (needsSums && !sums ? "aggregation" : "multicast"),
              "set the capability on the switches that have it"}};
  }
  forestcoll::Request optimal;
  optimal.collective = request.collective;
  optimal.root = request.root;
  optimal.allreduceBudget = std::chrono::milliseconds(0);
  const auto optimum = orThrow(forestcoll::optimum(fabric, optimal, progress));
  schedule::Schedule schedule;
  schedule.collective = request.collective;
  schedule.fabricName = fabric.name();
  schedule.fabricDigest = fabric.digest();
  schedule.root = request.root;
  schedule.bound = optimum.algbw;
  schedule.bottlenecks = optimum.bottlenecks;
  schedule.fixedK = 1;
  InverseBandwidth time;
  for (const Direction direction : {Direction::in, Direction::out}) {
    if (direction == Direction::in ? needsSums : needsCopies) {
      Forest forest = stars(fabric, request, direction);
      forest.scale = busiest(fabric, forest);
      time += forest.algbw().inverse();
      (direction == Direction::in ? schedule.reduceForest : schedule.broadcastForest) = std::move(forest);
    }
  }
  schedule.algbw = time.inverse();
  return schedule;
}

}  // namespace coppice::baselines
