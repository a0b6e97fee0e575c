// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

/// Judges schedules and programs from fabric and schedule alone; shares nothing with any generator but the model.
namespace coppice::verify {

struct ScheduleVerdict {
  bool ok = false;
  std::vector<Finding> findings;  ///< every fault found (at most 100 are listed), in order of discovery
  Rational algbw;                 ///< recomputed from the trees, GB/s
  Rational busiestLoad;           ///< largest load/(bandwidth) over links, trees per GB/s; must be <= scale
  bool boundProved = false;       ///< the stated cut gives `bound`, and max flow (LEMON) shows no cut is tighter
};

struct ScheduleCheckOptions {
  /// Re-prove the bound with one LEMON max flow per GPU. Off for huge fabrics, where the cut and the trees alone prove
  /// it: trees reaching the cut's value are their own proof.
  bool maxFlow = true;
};

/// Checks, independently: the fabric's digest; each tree spans all GPUs with one parent per GPU; multiplicities add up
/// to treesOfRoot; every edge's route exists, joins the right GPUs and only relays through nics and switches; the load
/// of every arc fits floor(scale * bandwidth); pruning is legal; the claimed algbw equals the recomputed one exactly;
/// the cut proves the bound. Errors: overflow, cancelled.
Result<ScheduleVerdict> verifySchedule(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                       const ScheduleCheckOptions& options = {}, const Progress& progress = {});

}  // namespace coppice::verify
