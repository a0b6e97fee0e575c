// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "fabric/fabric.hpp"
#include "schedule/concurrent.hpp"

namespace coppice::groups {

/// What one column of the program stands for: what all images of a root of a group send or get.
struct Share {
  int group = 0;
  std::vector<int> roots;  ///< places in the group's ranks; several for an allreduce, which takes the cheapest
  Rational amount;         ///< bytes of all images for L = 1, of the data of one path
};

/// What is equal under the symmetries of fabric, relays and groups together.
struct Classes {
  std::vector<int> ofArc;      ///< -1: no group may use it
  std::vector<int> linkCount;  ///< by class of links
  std::vector<Share> shares;
  std::vector<int> ofGroup;  ///< the first group of its class
  std::vector<std::vector<std::pair<fabric::NodeIndex, fabric::NodeIndex>>> symmetries;
};

/// Whether the group may use the node: its own GPUs, relays of the fabric, and GPUs that relay. By node.
[[nodiscard]] std::vector<char> usableNodes(const fabric::Fabric& fabric, const schedule::ConcurrentDemand& demand,
                                            const schedule::ConcurrentGroup& group);

/// Throws CancelledError, OverflowError.
[[nodiscard]] Classes classesOf(const fabric::Fabric& fabric, const schedule::ConcurrentDemand& demand,
                                const Progress& progress);

}  // namespace coppice::groups
