// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"
#include "schedule/tree_reader.hpp"

/// Changes of trees by hand.
namespace coppice::schedule {

/// One GPU of one tree is hung below another GPU, with all that is below it. The parent may be the one that it has:
/// then the edge takes another route.
struct NewParent {
  std::int64_t tree = 0;  ///< in the order of TreeReader; without rotations, into Forest::trees
  fabric::Rank child = 0;
  fabric::Rank parent = 0;
  std::vector<fabric::NodeIndex> route = {};  ///< in the direction of the data; empty = a shortest one
};

struct EditedForest {
  Forest forest;
  std::int64_t tree = 0;  ///< the one that was changed, into Forest::trees
};

/// The forest with that change of one copy of the tree: where it has several, the changed one becomes a tree of its own
/// behind it. The scale becomes what the busiest link needs, so that algbw() is what the trees reach as they are.
/// Errors: badUsage (rotations, pruned edges, no such tree or GPU, a root or a parent below the child, a route that the
/// fabric has not, or that the edge has already), infeasible (only other GPUs join the two), overflow, cancelled.
[[nodiscard]] Result<EditedForest> withNewParent(const fabric::Fabric& fabric, const Forest& forest,
                                                 const NewParent& change, const Progress& progress = {});

/// What a change does to the links, for one copy of the tree.
struct RouteChange {
  std::vector<fabric::NodeIndex> route;  ///< of the new edge, in the direction of the data
  std::vector<std::int32_t> freed;       ///< the links of the old edge, into Fabric::arcs()
  std::vector<std::int32_t> taken;       ///< those of the new one
};

/// That of withNewParent, without making the forest; trees may be images of others. Time grows with the fabric and the
/// written trees. Errors: as withNewParent, but for rotations.
[[nodiscard]] Result<RouteChange> routeChange(const fabric::Fabric& fabric, const Forest& forest,
                                              const NewParent& change);

/// The tree of the other half of an allreduce with the same root and edges and all routes turned round, in the order of
/// TreeReader; nullopt where there is none. Where it has several copies, the first such tree.
[[nodiscard]] std::optional<std::int64_t> mirroredTree(const Forest& forest, std::int64_t tree, const Forest& other);

/// The GPUs that may become the parent of the child in that tree, but for the one that is, by rank.
[[nodiscard]] std::vector<fabric::Rank> possibleParents(int gpuCount, std::span<const TreeEdge> edges,
                                                        fabric::Rank child);

}  // namespace coppice::schedule
