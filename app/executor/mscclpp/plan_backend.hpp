// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "bench/bench.hpp"
#include "engine/backend.hpp"
#include "mscclpp/execution_plan.hpp"

/// Execution plans of MSCCL++ for the bench loop, on threads of this process.
namespace coppice::executor {

/// Ranks of an allgather or reduce_scatter have different amounts.
[[nodiscard]] bool hasUnequalShares(const mscclpp::ExecutionPlan& plan);

/// What the bench loop and the check of data need to know of a plan: sizes and the collective; it has no steps.
/// Unequal shares are a custom collective, in which every rank has room for all of them.
/// @pre the collective defines a result  @param root of rooted collectives
[[nodiscard]] Plan shellOf(const mscclpp::ExecutionPlan& plan, int root);

/// Bytes of the whole collective come in multiples of this many: 16 for each chunk.
[[nodiscard]] std::int64_t sizeUnit(const mscclpp::ExecutionPlan& plan);

/// @param workers 0 = as many as cores may be used  Errors: limit (memory) when it prepares; badUsage there for sizes
/// that are no multiple of sizeUnit.
[[nodiscard]] std::unique_ptr<Backend> makePlanBackend(std::shared_ptr<const mscclpp::ExecutionPlan> plan, int workers);

}  // namespace coppice::executor
