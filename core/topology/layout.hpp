// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "fabric/description.hpp"
#include "topology/digraph.hpp"

namespace coppice::topology {

/// Where a drawing places the nodes, in scene units: graphs with sides as grids (dimensions beyond two as grids of
/// grids), all others on a circle in the order of their numbers.
[[nodiscard]] std::vector<fabric::Position> positions(const Digraph& graph);

}  // namespace coppice::topology
