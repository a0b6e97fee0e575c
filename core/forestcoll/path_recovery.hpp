// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "base/units.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/switch_removal.hpp"
#include "forestcoll/tree_packing.hpp"
#include "schedule/forest.hpp"

namespace coppice::forestcoll {

/// The logical topology by rank, with the atoms behind each arc.
struct LogicalProblem {
  PackingProblem packing;      ///< nodes are the network's ranks
  std::vector<int> atomStart;  ///< atoms of arc i are atoms[atomStart[i], atomStart[i+1]), shortest routes first
  std::vector<int> atoms;      ///< indices into LogicalTopology::atoms
};

/// @param supply trees to root at each node of the network; only GPUs have any.
[[nodiscard]] LogicalProblem logicalProblem(const Network& network, const LogicalTopology& topology,
                                            const std::vector<std::int64_t>& supply);

/// Gives every arc of the packed trees concrete routes (B.5.2); copies that do not share a route become trees of their
/// own. The packed trees are used up. Ranks and route nodes are the network's. Throws Failure (internal, if the trees
/// overload an arc), CancelledError.
[[nodiscard]] schedule::Forest recoverPaths(const LogicalTopology& topology, const LogicalProblem& logical,
                                            std::vector<PackedTree>&& packed, const InverseBandwidth& scale,
                                            const Progress& progress);

}  // namespace coppice::forestcoll
