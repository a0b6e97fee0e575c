// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/collective.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/tree_bound.hpp"

namespace coppice::verify {

/// What a proof bounds.
struct TreeBoundGoal {
  Collective collective = Collective::allreduce;  ///< or allgather or reduce_scatter
  /// Relative data per rank of an allgather or reduce_scatter; empty = equal. An allreduce chooses it.
  std::vector<std::int64_t> demand = {};
  bool plainSwitches = false;  ///< no switch copies or sums, whatever the fabric says
};

struct TreeBoundVerdict {
  bool ok = false;
  std::vector<Finding> findings;  ///< every fault found (at most 100 are listed)
};

/// Whether the proof shows that no schedule by trees is faster than its bound: all conditions of TreeBoundProof, with
/// exact numbers.
///
/// With symmetries s of a group G, a cut Q of weight z stands for the cuts s(Q), each of weight z / |G|. Then of a link
/// a in the orbit O, the cuts that it enters weigh z * n / |O|, where n links of O enter Q, because s^-1(a) is every
/// link of O equally often. In the same way, Q and its images without the GPU g in the orbit P weigh z * m / |P|, where
/// m GPUs of P are not in Q. Prices and potentials are constant on orbits, so one link and one GPU of each orbit show
/// the conditions of all. The orbits are those of the generators: a link and its images under them, and so on. That the
/// generators are symmetries (kinds of nodes, capabilities unless `plainSwitches`, links with their bandwidths) is
/// checked here.
///
/// Potentials are stated for all nodes, or for none where all are 0; those of the direction without trees do not count.
/// Time is linear in the fabric, plus the links at the nodes of each cut and at those that each symmetry moves.
/// Errors: badUsage (another collective, a demand of another length or without data), overflow, cancelled.
Result<TreeBoundVerdict> checkTreeBound(const fabric::Fabric& fabric, const schedule::TreeBoundProof& proof,
                                        const TreeBoundGoal& goal = {}, const Progress& progress = {});

}  // namespace coppice::verify
