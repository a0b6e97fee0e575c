// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "synth/sccl.hpp"
#include "synth/timed_progress.hpp"

namespace coppice::synth {

/// The front of allreduce: for each number of steps, schedules in one piece and in halves. The bound of a number of
/// steps holds for any allreduce (AllreduceSearch::stepsRatio). All events are set. A cancel keeps what was found.
/// Errors: those of AllreduceSearch::make.
Result<StatedFront> allreduceFront(const fabric::Fabric& fabric, const FrontLimits& limits,
                                   const SynthesisOptions& options, const FrontEvents& events,
                                   const TimedProgress& progress);

}  // namespace coppice::synth
