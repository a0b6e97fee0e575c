// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/expansion.hpp"
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

/// What is asked. Amounts, root and collective decide the supplies r(v) of the roots.
struct Request {
  Collective collective = Collective::allgather;
  /// broadcast, reduce, gather and scatter only.
  std::optional<fabric::Rank> root = {};
  /// Relative data of each rank (allgather, reduce_scatter, gather, scatter); empty = equal. Non-negative, not all
  /// zero.
  std::vector<std::int64_t> amounts = {};
  /// Trees per root (uniform and rooted) or per unit of amount; absent = the smallest k that reaches the bound.
  std::optional<std::int64_t> fixedK = {};
  /// Scan k = 1..maxK and keep the best (the smallest on a tie); excludes fixedK.
  std::optional<std::int64_t> maxK = {};
  /// Take the least k whose algbw is at least (1 - maxLoss) times the optimum; in (0, 1). Excludes fixedK and maxK.
  std::optional<Rational> maxLoss = {};
  /// No tree may be higher, in GPU-to-GPU hops. Where the optimum cannot be reached under this cap, the best forest
  /// found is taken; algbw says exactly what it does, and Schedule::fixedK is set, since it need not meet the bound.
  std::optional<int> maxHeight = {};
  /// Work spent on low trees: 0 = none, 1 = default (cheap beside the rest), each more about doubles it.
  int heightEffort = 1;
  /// Trees that are written edge by edge take no more bytes, about, in each forest.
  std::int64_t maxTreeBytes = schedule::kMaxWrittenBytes;
  /// allreduce: how long the linear program of B.7 may take; 0 = leave it out.
  std::chrono::milliseconds allreduceBudget = std::chrono::milliseconds(5000);
};

/// fixedK, maxK or maxLoss decides the number of trees.
[[nodiscard]] bool limitsTrees(const Request& request);
/// The same without them: its optimum is that of the fabric. The linear program of an allreduce is asked for as before.
[[nodiscard]] Request withoutTreeLimits(Request request);

/// What no allreduce by trees can beat (linear program of B.7), beside reduce-scatter then allgather.
struct AllreduceLimit {
  Bandwidth algbw;
  bool isExact = false;    ///< the program's optimum, proved on both sides; otherwise a proved upper bound on it
  bool isReached = false;  ///< reduce-scatter then allgather at the cut bound reaches it, so nothing is left to gain
};

/// The exact answer to "how fast can this possibly be".
struct Optimum {
  int gpuCount = 0;
  /// 1/x*: the largest demand(S) / B+(S); with a fixed k, U*/k. Time = (M / total demand) * inverseRate.
  InverseBandwidth inverseRate;
  Bandwidth algbw;                ///< total demand / inverseRate (allreduce: 1/(1/RS + 1/AG))
  std::int64_t treesPerRoot = 0;  ///< k that is used; gather and scatter have no trees
  InverseBandwidth scale;         ///< U of that k
  /// The k and U of the dissertation (B.5.1), with which the capacity of every link is a whole number of trees.
  std::int64_t integralTreesPerRoot = 0;
  InverseBandwidth integralScale;
  /// No smaller k reaches the same algbw, proved by cuts (MinimumK). False with fixedK and maxK, where the search ended
  /// at its limit of work, and where forwarding alone, not a cut, sets the rate.
  bool isMinimumK = false;
  std::vector<schedule::Cut> bottlenecks;  ///< at least one; first the minimal one found, then others, distinct
  /// The fabric was not balanced and a switch-balanced sub-capacity that provably keeps the optimum was used.
  bool usedSubCapacity = false;
  std::string note = {};  ///< for a person, when usedSubCapacity
  /// allreduce only; absent when left out, or stopped by its budget before it proved anything.
  std::optional<AllreduceLimit> allreduceLimit = {};
};

/// Largest algorithmic bandwidth of the collective on the fabric, exactly (Thm 23 by Newton's method on the cut
/// ratio; fixed k: Alg. 5, Thms 33-35). Gather and scatter: max-flow min-cut with the root on one side and the other
/// ranks' shards on the other; the root's own shard does not move. Errors: infeasible, unbalanced, overflow, cancelled,
/// badUsage.
Result<Optimum> optimum(const fabric::Fabric& fabric, const Request& request, const Progress& progress = {});

struct StageSeconds {
  std::string stage;
  double seconds = 0;
};

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
/// @pre the forest has no rotations: schedule::expanded() writes their images
void pruneInNetwork(const fabric::Fabric& fabric, schedule::Forest& forest);

}  // namespace coppice::forestcoll
