// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "base/units.hpp"
#include "forestcoll/in_network/tree_columns.hpp"
#include "forestcoll/in_network/tree_mixture.hpp"

namespace coppice::forestcoll {

/// Trees over hubs: switches at which trees may branch, and without which the fabric falls into parts, such as boxes
/// that planes or rails of switches with SHARP join. In each tree one hub joins the parts, and within a part the tree
/// does not depend on the others:
///
///   a packing of trees over the GPUs of a part and the hub, for each part and hub;
///   the trees of the parts side by side, each time that one of them changes a new tree of the whole.
///
/// Hubs take shares of the links of a part in proportion to their own links. Equal parts are solved once. Where all
/// switches copy and sum, n GPUs with link a to the switch of their box and b to the hubs reach b + a (n - 1) / n,
/// which is the bound.
///
/// Where that falls short, and the effort is thorough, a tree takes several hubs (packJoined).
/// @param mayBranch by node
/// nullopt where there are no such hubs, where parts differ in too many ways, and where less than 99 % of `upper` can
/// be reached. Throws OverflowError, CancelledError.
[[nodiscard]] std::optional<TreePacking> packOverHubs(const TreeGraph& graph, const std::vector<bool>& mayBranch,
                                                      const Bandwidth& upper, std::chrono::milliseconds budget,
                                                      ColumnEffort effort, const Progress& progress);

}  // namespace coppice::forestcoll
