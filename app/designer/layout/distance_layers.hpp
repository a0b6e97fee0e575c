// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <map>
#include <set>
#include <vector>

#include "base/progress.hpp"
#include "designer/document/model.hpp"

namespace coppice::designer {

/// How many links are between the sources and each of the nodes, along the direction of the links; -1 for nodes that
/// are not reached.
[[nodiscard]] std::map<NodeId, int> distancesFrom(const Model& model, const std::vector<NodeId>& ids,
                                                  const std::set<NodeId>& sources);

/// Centres in rows: the sources at the top, below them the nodes at distance 1, and so on; what is not reached is
/// last. In a row each node is near those above that it is linked to. Throws CancelledError.
[[nodiscard]] std::map<NodeId, Point> layersByDistance(const Model& model, const std::vector<NodeId>& ids,
                                                       const std::set<NodeId>& sources, const Progress& progress = {});

}  // namespace coppice::designer
