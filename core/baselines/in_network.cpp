// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "baselines/builder.hpp"
#include "baselines/forests.hpp"

/// Every GPU sends its shard once, and switches that are marked capable copy it to the others (or sum it up). Each root
/// has one star; capable switches take its common links once.
namespace coppice::baselines {
namespace {

using fabric::Rank;
using schedule::Direction;
using schedule::Forest;

Forest stars(const fabric::Fabric& fabric, const Request& request, Direction direction, const Progress& progress) {
  ForestBuilder builder(fabric, direction);
  const int gpuCount = fabric.gpuCount();
  for (Rank root = 0; root < gpuCount; ++root) {
    if (request.root && *request.root != root) {
      continue;
    }
    throwIfCancelled(progress);
    builder.startTree(root);
    for (int hop = 1; hop < gpuCount; ++hop) {
      builder.addEdge(root, (root + hop) % gpuCount);
    }
  }
  prune(fabric, builder.forest(), {});
  return std::move(builder.forest());
}

}  // namespace

schedule::Schedule inNetwork(const fabric::Fabric& fabric, const Request& request, const Progress& progress) {
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
  std::optional<Forest> reduce;
  std::optional<Forest> broadcast;
  if (needsSums) {
    reduce = stars(fabric, request, Direction::in, progress);
  }
  if (needsCopies) {
    broadcast = stars(fabric, request, Direction::out, progress);
  }
  return scheduleOf(fabric, request, std::move(reduce), std::move(broadcast), false, progress);
}

}  // namespace coppice::baselines
