// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <map>
#include <vector>

#include "designer/document/model.hpp"

namespace coppice::designer {

/// Places for nodes that have none, without help from outside and in well under a second for thousands: each box as a
/// block with its switches above its GPUs and its NICs between box and network; boxes in rows; free switches above by
/// tier. The block of new places stands clear of what is placed already. Deterministic.
/// @param ids the nodes to place
std::map<NodeId, Point> quickArrangement(const Model& model, const std::vector<NodeId>& ids);

}  // namespace coppice::designer
