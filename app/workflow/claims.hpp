// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "alltoall/alltoall.hpp"
#include "base/progress.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/step_cost.hpp"
#include "schedule/step_schedule.hpp"
#include "schedule/tree_bound.hpp"
#include "sketch/model.hpp"
#include "sketch/plan.hpp"
#include "verify/distance_check.hpp"

/// What a method states beside its schedule. It travels with the schedule, and the judge checks all of it
/// (requireJudged), at every door.
namespace coppice::workflow {

/// In a step of r rounds a link carries at most bandwidth * r / unit chunks (verify::checkRounds).
struct RoundsClaim {
  std::optional<Bandwidth> unit = {};  ///< GB/s that move one chunk in a round; absent = every link carries one
};

/// What the edges of each depth of a rotated forest take when they are sent in a step of their own
/// (verify::stepTimesByRule).
struct DepthClaim {
  std::int32_t steps = 0;
  Bandwidth algbw;                            ///< of the steps
  Rational shardsPerCollective;               ///< a shard is what one root owns
  std::vector<InverseBandwidth> atMost = {};  ///< by step, in shards per GB/s; empty = not stated
};

/// A plan within a sketch, with its bound (verify::checkPlan).
struct PlanClaim {
  sketch::Model model;
  sketch::Plan plan;
};

struct Claims {
  std::optional<RoundsClaim> rounds = {};
  std::vector<verify::StepClaim> steps = {};  ///< why no step can be shorter; of a fabric without relays
  std::optional<DepthClaim> depths = {};
  /// The two certificates of an all-to-all (verify::provenExchangeRate, provenExchangeBound); a schedule is as fast as
  /// its routing.
  std::shared_ptr<const alltoall::Optimum> exchange = {};
  std::shared_ptr<const PlanClaim> plan = {};
  /// Why no schedule by trees is faster (verify::checkTreeBound): the allreduce bound of an allreduce by trees, the
  /// bound of an allgather or reduce_scatter by trees. Schedules in steps state no bound; of theirs the proof alone is
  /// checked.
  std::optional<schedule::TreeBoundProof> treeBound = {};
  bool plainSwitches = false;  ///< treeBound holds where no switch copies or sums, whatever the fabric says
};

struct ClaimVerdict {
  std::vector<Finding> findings;  ///< what is wrong; empty = all claims hold
  /// With a DepthClaim: the steps as the trees show them.
  std::optional<schedule::StepCost> depthCost = {};
  bool provesBound = false;  ///< the bound of the schedule, by treeBound
};

/// @param schedule nullptr: only what is claimed of the fabric alone. Errors: those of core/verify; badInput (rounds of
/// a forest, depths of steps, a treeBound without a schedule).
[[nodiscard]] Result<ClaimVerdict> checkClaims(const fabric::Fabric& fabric, const schedule::AnySchedule* schedule,
                                               const Claims& claims, const Progress& progress);

/// The first finding of severity error, or the first of all; nullptr for none.
[[nodiscard]] const Finding* firstFault(const std::vector<Finding>& findings);
/// A schedule or a claim that did not pass: verification with the first fault and its place.
[[nodiscard]] Error rejected(const std::vector<Finding>& findings);

}  // namespace coppice::workflow
