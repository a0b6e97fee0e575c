// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

/// Changes of trees by hand.
namespace coppice::schedule {

/// One GPU of one tree is hung below another GPU, with all that is below it.
struct NewParent {
  std::int64_t tree = 0;  ///< into Forest::trees
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
/// fabric has not), infeasible (only other GPUs join the two), overflow, cancelled.
[[nodiscard]] Result<EditedForest> withNewParent(const fabric::Fabric& fabric, const Forest& forest,
                                                 const NewParent& change, const Progress& progress = {});

/// The GPUs that may become the parent of the child in that tree, but for the one that is, by rank.
[[nodiscard]] std::vector<fabric::Rank> possibleParents(int gpuCount, std::span<const TreeEdge> edges,
                                                        fabric::Rank child);

}  // namespace coppice::schedule
