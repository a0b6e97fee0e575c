// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "forestcoll/network.hpp"

namespace coppice::forestcoll {

/// A fabric seen as boxes (GPUs that share switches of their own, or direct links) and a network between the boxes: a
/// rack of NVLink switches with NICs, for example. Everything by rank; capacities in trees.
struct TwoLevelShape {
  std::vector<int> boxOf;
  std::vector<std::vector<int>> boxes;  ///< ranks, ascending
  std::vector<std::int64_t> innerOut;   ///< to switches of the box, or its GPUs
  std::vector<std::int64_t> innerIn;
  std::vector<std::int64_t> outerOut;  ///< to the network between boxes
  std::vector<std::int64_t> outerIn;
  std::vector<std::vector<int>> networksOf;  ///< parts of that network (planes, rails) that the GPU is attached to
  std::vector<char> isInnerArc;              ///< by arc: inside a box
  std::vector<int> networkOf;                ///< by arc between boxes: the part of the network that it belongs to
  /// By box: equal for boxes whose GPUs hang on the same leaf switches. A GPU's leaf is the first switch
  /// on its way out, behind NICs and the like that only join two nodes.
  std::vector<int> leafOf;
};

/// All two-level shapes of the network. On a grid of boxes and rails either family can be the boxes, which gives two
/// shapes, the one with more capacity inside its boxes first.
[[nodiscard]] std::vector<TwoLevelShape> twoLevelShapes(const Network& network, const std::vector<TreeArc>& capacities);

}  // namespace coppice::forestcoll
