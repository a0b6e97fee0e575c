// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

/// Judges schedules and programs from fabric and schedule alone; shares nothing with any generator but the model.
namespace coppice::verify {

struct ScheduleVerdict {
  bool ok = false;
  std::vector<Finding> findings;  ///< every fault found (at most 100 are listed), in order of discovery; notes
  Bandwidth algbw;                ///< recomputed from the trees
  InverseBandwidth busiestLoad;   ///< largest load / bandwidth over links (of both forests), trees per GB/s
  /// A cut allows no more than `bound`, and either max flow shows that no cut is tighter or the trees reach it. Where
  /// the halves of an allreduce overlap, the cut alone: it allows no more than its bandwidth.
  bool boundProved = false;
  /// Of a forest with rotations, the trees of rank 0 were checked edge by edge, and that the rotations are symmetries
  /// of the fabric, from which all other trees follow. That finds the same faults (symmetry_check.hpp).
  bool isBySymmetry = false;
};

struct ScheduleCheckOptions {
  /// Re-prove the bound with one LEMON max flow per GPU. Off for huge fabrics, where the cut and the trees alone prove
  /// it: trees reaching the cut's value are their own proof.
  bool maxFlow = true;
  /// Forests with rotations that have more edges are checked by symmetry, all others edge by edge.
  std::int64_t maxEdges = std::int64_t{1} << 24;
};

/// Checks, independently: the fabric's digest; each tree spans all GPUs with one parent per GPU, in breadth-first
/// order; multiplicities add up to treesOfRoot, and those to the shares of the data; every edge's route exists, joins
/// the right GPUs in the direction of the data and only relays through nics and switches; the load of every arc fits
/// floor(scale * bandwidth); the claimed algbw equals the recomputed one exactly, and the bound where k is free; every
/// stated cut proves the bound.
///
/// Pruning (4.5.6) is legal where the switch is marked capable and gets the data on another edge that does not, through
/// whatever chain, wait for this one; in-trees are checked the same way backwards from the root.
///
/// Cuts of reduce_scatter and reduce count what enters S (that is B+(S) of the transposed fabric, on which they are
/// allgather and broadcast). Allreduce runs one half after the other, each within its own scale: its bound is
/// 1/(1/h + 1/o) with h from the stated cuts of the slower half; on a balanced fabric o = h, else max flow proves o.
/// Where its halves overlap, both forests have the same scale and trees per root, their loads together fit, the algbw
/// is that of either, and the bound is the stated allreduce bound, which the trees need not reach (tree_bound_check.hpp
/// proves it); no k is fixed, and there are no amounts. With own copies (Schedule::ownCopies) their links are loaded
/// too, and the trees need not reach the bound.
///
/// On an unbalanced fabric the bound may hold for a balanced part only. Then there is no cut to state: max flow must
/// still find the bound reachable, and unless it meets a cut, boundProved stays false, with a note. The same where the
/// bandwidths, as whole numbers, leave the 64 bits that max flow has, unless the trees reach a stated cut.
/// Time is linear in edges and routes, plus one max flow per GPU; of forests with rotations beyond maxEdges, linear in
/// the fabric and the trees of rank 0. Findings come in the order of the trees. Errors: overflow, cancelled, limit
/// (memory).
Result<ScheduleVerdict> verifySchedule(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                       const ScheduleCheckOptions& options = {}, const Progress& progress = {});

}  // namespace coppice::verify
