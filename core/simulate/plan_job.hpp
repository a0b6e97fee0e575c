// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "mscclpp/execution_plan.hpp"
#include "simulate/job.hpp"
#include "simulate/sweep.hpp"

namespace coppice::simulate {

/// An execution plan of MSCCL++ as messages.
///
/// A threadblock runs its operations in order. One that writes or reads another rank's memory holds it until its last
/// byte has left; a port takes its transfers one after the other, and the threadblock goes on. A wait ends when its
/// signal and all that was put to that rank before have arrived; packets are waited for likewise, and take twice the
/// bytes. A switch group's sum or store loads each link of its members once. Semaphores pair the k-th release with the k-th acquire. Pipelines are played piece by piece, up to 64 pieces.
/// Copies, sums and signals take no time of their own. Bytes are those of the larger buffer of the caller.
///
/// Whether the plan computes the right thing does not matter here; `verify` says that.
/// @pre the lists of the plan are right (MscclppVerdict::isRunnable)
/// Errors: badInput (other number of ranks than GPUs, waits without signals), cancelled, those of Job::route.
[[nodiscard]] Result<Job> planJob(const fabric::Fabric& fabric, const mscclpp::ExecutionPlan& plan, double bytes,
                                  const Model& model, const Progress& progress = {});

/// The fabric must outlive the subject.
[[nodiscard]] std::unique_ptr<Subject> subjectOf(const fabric::Fabric& fabric,
                                                 std::shared_ptr<const mscclpp::ExecutionPlan> plan,
                                                 const Model& model);

}  // namespace coppice::simulate
