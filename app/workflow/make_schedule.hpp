// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/bound_scope.hpp"
#include "schedule/step_cost.hpp"
#include "verify/schedule_verifier.hpp"
#include "workflow/method.hpp"

/// From a demand to a schedule that has passed the verifier. Nothing leaves the program unverified.
namespace coppice::workflow {

/// Whether the bound needs max flow to be proved, or cheaply may have it: the trees of a schedule that claims to reach
/// its cut prove both if they do.
[[nodiscard]] bool needsMaxFlow(const fabric::Fabric& fabric, const schedule::Schedule& schedule);

/// The verifier's verdict, good or bad. Every bound is proved: by the trees that reach its cut, or, where they do not,
/// or for up to 256 GPUs, by max flow. Errors: overflow, cancelled, limit.
[[nodiscard]] Result<verify::ScheduleVerdict> judgeSchedule(const fabric::Fabric& fabric,
                                                            const schedule::Schedule& schedule,
                                                            const Progress& progress);
/// The same, where a bad verdict is an error. Errors: verification with the first fault and its place.
[[nodiscard]] Result<verify::ScheduleVerdict> requireVerified(const fabric::Fabric& fabric,
                                                              const schedule::Schedule& schedule,
                                                              const Progress& progress);

/// The same for a schedule of any kind.
[[nodiscard]] Outcome requireVerified(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule,
                                      const Progress& progress);

/// States the bound of the schedule's collective on this fabric, and the cuts that prove it, in a schedule that does
/// not. Errors: those of forestcoll::optimum.
[[nodiscard]] Outcome stateBound(const fabric::Fabric& fabric, schedule::Schedule& schedule, const Progress& progress);

/// The trees of a schedule in steps as a forest with its bound, verified. Errors: those of schedule::forestOf and
/// stateBound; verification.
[[nodiscard]] Result<schedule::Schedule> treesOf(const fabric::Fabric& fabric, const schedule::StepSchedule& steps,
                                                 const Progress& progress);

/// GB/s that the schedules of a collective within the scope do not exceed on a fabric.
struct ScopedBound {
  Bandwidth algbw;
  schedule::BoundScope scope = schedule::BoundScope::all;
  bool isProved = false;  ///< allreduce: the verifier has checked the proof of the bound of trees
};

/// Of the schedule's collective: what a forest states, or else the exact optimum; nullopt where that is not known.
/// Errors: those of forestcoll::optimum.
[[nodiscard]] Result<std::optional<ScopedBound>> boundOf(const fabric::Fabric& fabric, const AnySchedule& schedule,
                                                         const Progress& progress);

struct Judged {
  Made made;
  verify::ScheduleVerdict verdict;                  ///< ok, but from judge()
  std::optional<schedule::StepCost> stepCost = {};  ///< of a step schedule, as the verifier recomputed it
  /// Of trees whose edges of each depth are sent in a step of their own (DepthClaim).
  std::optional<schedule::StepCost> depthCost = {};
  std::optional<Bandwidth> bound = {};  ///< absent where it is not known
  schedule::BoundScope boundScope = schedule::BoundScope::all;
  double generating = 0;  ///< seconds
  double verifying = 0;   ///< seconds
};

/// The judge: verifies what was made or read, and checks all that is claimed of it. A bad verdict is no error; the
/// bound is not looked for. Errors: those of the verifiers and of checkClaims.
[[nodiscard]] Result<Judged> judge(const fabric::Fabric& fabric, Made made, const Progress& progress);
/// The same, where a bad verdict is an error. Errors: verification with the first fault and its place.
[[nodiscard]] Result<Judged> requireGood(const fabric::Fabric& fabric, Made made, const Progress& progress);
/// The same, with its bound. Errors: those of boundOf.
[[nodiscard]] Result<Judged> requireJudged(const fabric::Fabric& fabric, Made made, const Progress& progress);

/// What a method makes of a demand, unjudged. Errors: badUsage, also for a collective or amounts that the method does
/// not make; those of the method.
[[nodiscard]] Result<Front> makeFront(const fabric::Fabric& fabric, const Method& method, const Demand& demand,
                                      const Values& options, Wanted wanted, const Progress& progress);

/// Generates the schedule that the options ask for, and judges it. Errors: those of makeFront and requireJudged.
/// Overflow, cancelling and lack of memory may also be thrown, as core does: see guarded().
[[nodiscard]] Result<Judged> makeSchedule(const fabric::Fabric& fabric, const Method& method, const Demand& demand,
                                          const Values& options, const Progress& progress);

/// What the method knows without a schedule, with its claims checked. @pre method.known. Errors: as makeSchedule().
[[nodiscard]] Result<BestKnown> requireKnown(const fabric::Fabric& fabric, const Method& method, const Demand& demand,
                                             const Values& options, const Progress& progress);

/// algbw for k = first to last; `onValue` hears each as it is known, on this thread. Errors: those of
/// forestcoll::optimum; cancelled.
[[nodiscard]] Outcome scanTreeCounts(const fabric::Fabric& fabric, const Demand& demand, std::int64_t first,
                                     std::int64_t last, const std::function<void(const KValue&)>& onValue,
                                     const Progress& progress);

}  // namespace coppice::workflow
