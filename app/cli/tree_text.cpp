// SPDX-License-Identifier: Apache-2.0
#include "tree_text.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/one_line.hpp"
#include "schedule/tree_reader.hpp"
#include "text.hpp"

namespace coppice::cli {
namespace {

/// "via b0nvs, b0nic2", "directly", and what pruning leaves out.
std::string routeText(const fabric::Fabric& fabric, const schedule::Forest& forest, schedule::TreeReader& reader,
                      const schedule::TreeEdge& edge) {
  const auto path = reader.path(edge);
  std::string text;
  for (std::size_t i = 1; i + 1 < path.size(); ++i) {
    text += (i > 1 ? ", " : "via ") + oneLine(fabric.nodes()[path[i]].id);
  }
  if (text.empty()) {
    text = "directly";
  }
  if (edge.pruned > 0) {
    text += forest.direction == schedule::Direction::out ? " (first " : " (last ";
    text += counted(edge.pruned, "hop") + " saved by the switch)";
  }
  return text;
}

std::string oneTree(const fabric::Fabric& fabric, const schedule::Forest& forest, schedule::TreeReader& reader,
                    const schedule::TreeReader::View& tree) {
  const auto name = [&](fabric::Rank rank) { return oneLine(fabric.nodes()[fabric.gpus()[rank]].id); };
  std::vector<std::vector<const schedule::TreeEdge*>> children(static_cast<std::size_t>(forest.gpuCount));
  for (const schedule::TreeEdge& edge : tree.edges) {
    children[edge.parent].push_back(&edge);
  }
  std::string text = "    " + name(tree.root) + "\n";
  std::vector<std::pair<const schedule::TreeEdge*, std::size_t>> stack;  // edge, depth
  const auto push = [&](fabric::Rank parent, std::size_t depth) {
    const auto& edges = children[parent];
    for (std::size_t i = edges.size(); i-- > 0;) {
      stack.emplace_back(edges[i], depth);
    }
  };
  push(tree.root, 1);
  while (!stack.empty()) {
    const auto [edge, depth] = stack.back();
    stack.pop_back();
    text +=
        std::string(4 + 2 * depth, ' ') + name(edge->child) + "  " + routeText(fabric, forest, reader, *edge) + "\n";
    push(edge->child, depth + 1);
  }
  return text;
}

}  // namespace

std::string treeText(const fabric::Fabric& fabric, const schedule::Schedule& schedule, std::int64_t max) {
  std::string text;
  for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (!*forest) {
      continue;
    }
    if (max == 0) {
      return text;
    }
    schedule::TreeReader reader(**forest);
    const char* verb = (*forest)->direction == schedule::Direction::out ? "sends from " : "reduces to ";
    for (std::int64_t i = 0; i < std::min(reader.size(), max); ++i) {
      const schedule::TreeReader::View tree = reader.read(i);
      const std::string root = oneLine(fabric.nodes()[fabric.gpus()[tree.root]].id);
      text += "  tree " + std::to_string(i + 1) + " of " + std::to_string(reader.size()) + " " + verb + root + ", " +
              std::to_string(tree.multiplicity) + "-fold\n" + oneTree(fabric, **forest, reader, tree);
    }
  }
  return text;
}

}  // namespace coppice::cli
