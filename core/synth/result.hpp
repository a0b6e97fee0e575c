// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/step_schedule.hpp"
#include "synth/direct.hpp"
#include "synth/problem.hpp"

namespace coppice::synth {

/// The transfers of a solution. For reduce and reduce_scatter the problem is the dual on the transposed fabric, and the
/// solution is turned round: each send backwards, steps in reverse, with a reduction at the receiver; prune() has seen
/// to it that no contribution comes twice. Unverified. Errors: those of schedule::stepCost.
Result<schedule::StepSchedule> scheduleOf(const fabric::Fabric& fabric, const schedule::CollectiveTable& goal,
                                          const Problem& problem, std::int64_t n, const Steps& steps,
                                          const Progress& progress);

/// allreduce in halves: reduce_scatter (as allgather on the transposed fabric), then allgather, with n chunks per rank
/// each; n * P chunks in all. Errors: those of schedule::stepCost.
Result<schedule::StepSchedule> scheduleOfHalves(const fabric::Fabric& fabric, const Problem& transposed,
                                                const Steps& reduceScatter, const Problem& problem,
                                                const Steps& allgather, std::int64_t n, const Progress& progress);

/// allreduce in one piece. Errors: those of schedule::stepCost.
Result<schedule::StepSchedule> scheduleOfDirect(const fabric::Fabric& fabric, const Topology& topology,
                                                std::int64_t slots, const DirectSteps& steps, const Progress& progress);

}  // namespace coppice::synth
