// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "engine/backend.hpp"
#include "mpi/mpi_world.hpp"
#include "mscclpp/execution_plan.hpp"

namespace coppice::executor {

/// An execution plan of MSCCL++ with one process per rank: processes of one host share their buffers, counters of
/// signals and packets; behind the network everything is a message.
[[nodiscard]] std::unique_ptr<Backend> makeMpiPlanBackend(std::unique_ptr<MpiWorld> world,
                                                          std::shared_ptr<const mscclpp::ExecutionPlan> plan,
                                                          int workers);

}  // namespace coppice::executor
