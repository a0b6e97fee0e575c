// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "fabric/description.hpp"
#include "topology/digraph.hpp"

namespace coppice::topology {

/// Where a drawing places the nodes, in scene units: graphs with sides as grids, tori of three or more dimensions as
/// polygons in polygons, all others on circles in the order of their numbers, with the symmetry that this shows.
[[nodiscard]] std::vector<fabric::Position> positions(const Digraph& graph);

}  // namespace coppice::topology
