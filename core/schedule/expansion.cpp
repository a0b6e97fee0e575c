// SPDX-License-Identifier: Apache-2.0
#include "schedule/expansion.hpp"

#include <new>
#include <string>

#include "base/checked.hpp"
#include "schedule/rotation.hpp"
#include "schedule/route_index.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::schedule {
namespace {

std::string sizeText(std::int64_t bytes) {
  constexpr std::int64_t kMebi = std::int64_t{1} << 20;
  if (bytes < 1024 * kMebi) {
    return std::to_string(bytes / kMebi) + " MiB";
  }
  const std::int64_t tenths = bytes / (1024 * kMebi / 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

Forest expand(const Forest& forest, const Progress& progress) {
  Forest result;
  result.direction = forest.direction;
  result.gpuCount = forest.gpuCount;
  result.treesOfRoot = forest.treesOfRoot;
  result.scale = forest.scale;
  TreeReader trees(forest);
  RouteIndex routes;
  result.trees.reserve(trees.size());
  result.edges.reserve(sizeOf(forest).edges);
  for (std::int64_t i = 0; i < trees.size(); ++i) {
    throwIfCancelled(progress);
    if ((i & 0xff) == 0) {
      progress.report("expanding", static_cast<double>(i) / static_cast<double>(trees.size()));
    }
    const TreeReader::View tree = trees.read(i);
    result.trees.push_back({tree.root, tree.multiplicity, static_cast<std::int64_t>(result.edges.size())});
    for (TreeEdge edge : tree.edges) {
      edge.path = routes.idOf(trees.path(edge));
      result.edges.push_back(edge);
    }
  }
  result.paths = routes.takePaths();
  return result;
}

}  // namespace

Error treesTooLarge(std::int64_t trees, std::int64_t bytes, std::int64_t maxBytes) {
  return {ErrorCode::limit,
          "written edge by edge, the " + std::to_string(trees) + " different trees take about " + sizeText(bytes) +
              "; at most " + sizeText(maxBytes) + " are free for them",
          "use a smaller k or fewer GPUs; trees of more are stored only where symmetries of the fabric take one GPU to "
          "every other"};
}

Result<Forest> expanded(const Forest& forest, const fabric::Fabric& fabric, std::int64_t maxBytes,
                        const Progress& progress) {
  if (forest.rotations.empty()) {
    return forest;
  }
  const ForestSize size = sizeOf(forest);
  try {
    if (forest.gpuCount != fabric.gpuCount()) {
      return Error{ErrorCode::badInput, "the forest is made for " + std::to_string(forest.gpuCount) +
                                            " GPUs, the fabric has " + std::to_string(fabric.gpuCount())};
    }
    if (const auto fault = rotationFault(forest, fabric.nodeCount())) {
      return Error{ErrorCode::badInput, *fault};
    }
    if (size.writtenBytes > maxBytes) {
      return treesTooLarge(size.trees, size.writtenBytes, maxBytes);
    }
    return expand(forest, progress);
  } catch (const std::bad_alloc&) {
    Error error = treesTooLarge(size.trees, size.writtenBytes, maxBytes);
    error.message = "there is not enough memory: " + error.message;
    return error;
  } catch (const OverflowError& error) {
    return Error{ErrorCode::overflow, error.what()};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "writing out the trees was cancelled"};
  }
}

}  // namespace coppice::schedule
