// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/in_network/tree_mixture.hpp"
#include "forestcoll/request.hpp"
#include "forestcoll/stage_clock.hpp"
#include "schedule/forest.hpp"

namespace coppice::forestcoll {

/// How many trees a mixture has, in each direction.
struct MixtureSize {
  InverseBandwidth scale;                 ///< U, trees per GB/s
  std::vector<std::int64_t> treesOfRoot;  ///< by rank
};
/// Throws OverflowError.
[[nodiscard]] MixtureSize sizeOf(const fabric::Fabric& fabric, const TreeMixture& mixture);

/// How many trees of one rate a kind alone has.
[[nodiscard]] std::int64_t treesOfKind(const TreeShare& share);

/// The trees of a mixture.
struct MixtureForests {
  std::optional<schedule::Forest> reduce;     ///< in-trees
  std::optional<schedule::Forest> broadcast;  ///< out-trees
};

/// Grows every kind as a forest of its own (growForest), in which the relays that it reaches are like GPUs without
/// data; then leaves these out again: an edge that begins behind one of them is pruned there (TreeEdge::pruned), the
/// first that reaches it brings the data. Both forests have one scale, and of an allreduce the same trees of each root.
/// Of the request, heightEffort and maxTreeBytes count.
/// @param maxWork for the trees of a kind: WorkLimitReached is thrown where they take more; 0 = as much as it takes
/// Throws Failure, OverflowError, CancelledError.
[[nodiscard]] MixtureForests growMixture(const fabric::Fabric& fabric, const TreeMixture& mixture,
                                         const Request& request, std::uint64_t maxWork, const Progress& progress,
                                         StageClock& clock);

}  // namespace coppice::forestcoll
