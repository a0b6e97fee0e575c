// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "live/cut_engine.hpp"

namespace coppice::live {

/// Outermost boxes that can be exchanged with each other, for CutEngine::setEqualBoxes. Two are equal if they list the
/// same sinks and demands in the same order, the same arcs between these nodes, and arcs of the same capacity to the
/// SAME nodes outside. Exchanging their nodes in order, and nothing else, then changes nothing about the graph. Boxes
/// that are equal in another order are not found, which costs time and nothing else. Linear in nodes and arcs, but for
/// sorting.
/// @param boxOf by node: its box, or nothing
[[nodiscard]] CutEngine::EqualBoxes equalBoxes(std::span<const std::string_view> boxOf,
                                               std::span<const CutEngine::NodeInit> nodes,
                                               std::span<const CutEngine::ArcInit> arcs);

}  // namespace coppice::live
