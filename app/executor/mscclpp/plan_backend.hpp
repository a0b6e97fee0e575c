// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "engine/backend.hpp"
#include "mscclpp/execution_plan.hpp"

/// Execution plans of MSCCL++ for the bench loop, on threads of this process.
namespace coppice::executor {

/// @param workers 0 = as many as cores may be used  Errors: limit (memory) when it prepares; badUsage there for sizes
/// that are no multiple of sizeUnit.
[[nodiscard]] std::unique_ptr<Backend> makePlanBackend(std::shared_ptr<const mscclpp::ExecutionPlan> plan, int workers);

}  // namespace coppice::executor
