// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/optimum.hpp"
#include "forestcoll/request.hpp"
#include "forestcoll/stage_clock.hpp"
#include "schedule/forest.hpp"
#include "schedule/step_schedule.hpp"

/// ForestColl: throughput-optimal collectives on any fabric (dissertation Ch. 4 and App. B).
///
/// | symbol        | word here                       | unit            | source          |
/// |---------------|---------------------------------|-----------------|-----------------|
/// | V_c, V_s, b_e | gpus, switches, bandwidth       | -, -, GB/s      | B.1             |
/// | 1/x*          | inverseRate                     | 1/(GB/s)        | Alg. 1, Thm 23  |
/// | S*, B+(S)     | Cut::nodes, Cut::exitBandwidth  | -, GB/s         | (★), B.1        |
/// | k, U = 1/y    | treesPerRoot, scale             | trees, trees per GB/s | B.5.1     |
/// | γ             | splittable                      | trees           | Alg. 3, Thm 28  |
/// | μ, m(R), g(e) | addable, multiplicity, remaining| trees           | Alg. 4, Thm 32  |
namespace coppice::forestcoll {

/// Largest algorithmic bandwidth of the collective on the fabric, exactly (Thm 23 by Newton's method on the cut
/// ratio; fixed k: Alg. 5, Thms 33-35). Gather and scatter: max-flow min-cut with the root on one side and the other
/// ranks' shards on the other; the root's own shard does not move. Errors: infeasible, unbalanced, overflow, cancelled,
/// badUsage.
Result<Optimum> optimum(const fabric::Fabric& fabric, const Request& request, const Progress& progress = {});

struct Generated {
  schedule::Schedule schedule;
  Optimum optimum;
  std::vector<StageSeconds> seconds;
};

/// A forest that reaches optimum(): switch removal (Alg. 3), tree packing (Alg. 4), path recovery. Trees of more than
/// 128 MiB are given by those of rank 0 and rotations where the GPUs are all alike (Forest::rotations); others are
/// written edge by edge.
/// Not verified here: callers run verify::verifySchedule before they show, export or run it.
/// Errors: as optimum(), and limit (more trees than maxTreeBytes or the memory hold, or too much work).
Result<Generated> generate(const fabric::Fabric& fabric, const Request& request, const Progress& progress = {});

struct Routed {
  schedule::StepSchedule schedule;
  Optimum optimum;
  std::vector<StageSeconds> seconds;
};

/// A gather or scatter that reaches optimum(): every shard goes to the root (from it) in whole pieces along paths of a
/// maximum flow of minimum cost; GPUs may pass pieces on. Asynchronous. Not verified here. Errors: as optimum(), and
/// badUsage for other collectives and for limits on trees.
Result<Routed> routeShards(const fabric::Fabric& fabric, const Request& request, const Progress& progress = {});

/// Removes tree traffic that capable switches make redundant (4.5.6). Keeps algbw; lowers the load of links.
/// @param mayMeet which edges take part; absent = all
/// @pre the forest has no rotations: schedule::expanded() writes their images
void pruneInNetwork(const fabric::Fabric& fabric, schedule::Forest& forest,
                    const std::function<bool(const schedule::TreeEdge&)>& mayMeet = {});

}  // namespace coppice::forestcoll
