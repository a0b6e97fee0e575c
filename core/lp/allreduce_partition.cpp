// SPDX-License-Identifier: Apache-2.0
#include "lp/allreduce_partition.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "fabric/box_path.hpp"

namespace coppice::lp {
namespace {

/// GPUs outside every box of that level are sets of their own.
Partition byBoxes(const fabric::Fabric& fabric, int level) {
  Partition partition;
  std::map<std::string, int> number;
  int count = 0;
  for (const fabric::Node& node : fabric.nodes()) {
    const std::string box(fabric::boxAtLevel(node.box, level));
    if (box.empty()) {
      partition.push_back(node.kind == fabric::NodeKind::gpu ? count++ : -1);
      continue;
    }
    const auto [place, isNew] = number.emplace(box, count);
    count += isNew ? 1 : 0;
    partition.push_back(place->second);
  }
  return partition;
}

/// Sets without a GPU prove nothing: their switches belong to no set.
int dropEmptySets(const fabric::Fabric& fabric, Partition& partition) {
  std::map<int, int> number;
  for (const fabric::NodeIndex gpu : fabric.gpus()) {
    number.emplace(partition[gpu], static_cast<int>(number.size()));
  }
  for (int& set : partition) {
    const auto found = number.find(set);
    set = set < 0 || found == number.end() ? -1 : found->second;
  }
  return static_cast<int>(number.size());
}

}  // namespace

Bandwidth allreducePartitionBound(const fabric::Fabric& fabric, const Partition& partition) {
  const int count = 1 + *std::max_element(partition.begin(), partition.end());
  Bandwidth leaving;
  Bandwidth entering;
  for (const fabric::Arc& arc : fabric.arcs()) {
    const int from = partition[arc.tail];
    const int to = partition[arc.head];
    if (from != to) {
      leaving += from >= 0 ? arc.bandwidth : Bandwidth();
      entering += to >= 0 ? arc.bandwidth : Bandwidth();
    }
  }
  return std::min(leaving, entering) / Rational(2 * (std::int64_t{count} - 1));
}

std::vector<Partition> naturalPartitions(const fabric::Fabric& fabric) {
  std::vector<Partition> partitions;
  std::ptrdiff_t deepest = 0;
  for (const fabric::Node& node : fabric.nodes()) {
    deepest = std::max(deepest, node.box.empty() ? 0 : 1 + std::count(node.box.begin(), node.box.end(), '/'));
  }
  constexpr std::ptrdiff_t kMaxLevels = 8;
  for (int level = 0; level <= std::min(deepest, kMaxLevels); ++level) {
    Partition partition = byBoxes(fabric, level);
    if (dropEmptySets(fabric, partition) >= 2) {
      partitions.push_back(std::move(partition));
    }
  }
  return partitions;
}

}  // namespace coppice::lp
