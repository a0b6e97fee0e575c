// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cuda/launch_loop.hpp"
#include "mscclpp/execution_plan.hpp"

namespace coppice::executor::cuda {

/// An execution plan of MSCCL++ on the GPUs of this process, which must reach each other where ranks do. Ports are
/// written by the threadblocks themselves, and switches are not used (plan_interpreter.hpp). Errors: those of
/// Gpus::load; unavailable for a plan that they cannot run.
Result<std::unique_ptr<Backend>> makeGpuPlanBackend(std::unique_ptr<Gpus> gpus,
                                                    std::shared_ptr<const mscclpp::ExecutionPlan> plan,
                                                    const Tuning& tuning = {});

}  // namespace coppice::executor::cuda
