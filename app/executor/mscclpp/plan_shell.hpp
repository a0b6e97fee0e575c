// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "engine/buffers.hpp"
#include "mscclpp/execution_plan.hpp"
#include "mscclpp/plan_machine.hpp"
#include "plan/plan.hpp"

/// What an execution plan of MSCCL++ is to the bench loop, and where its chunks are.
namespace coppice::executor {

/// Ranks of an allgather or reduce_scatter have different amounts.
[[nodiscard]] bool hasUnequalShares(const mscclpp::ExecutionPlan& plan);

/// What the bench loop and the check of data need to know of a plan: sizes and the collective; it has no steps.
/// Unequal shares are a custom collective, in which every rank has room for all of them.
/// @pre the collective defines a result  @param root of rooted collectives  @param custom what another one demands
[[nodiscard]] Plan shellOf(const mscclpp::ExecutionPlan& plan, int root, std::vector<verify::CustomShard> custom = {});

/// Bytes of the whole collective come in multiples of this many: 16 for each chunk.
[[nodiscard]] std::int64_t sizeUnit(const mscclpp::ExecutionPlan& plan);

/// Errors: badUsage, with the sizes that are possible.
Outcome requireWholeChunks(const mscclpp::ExecutionPlan& plan, std::int64_t chunkBytes);

/// Where the machine finds the buffers of a rank: in a block of memory laid out for the shell, and in scratch.
[[nodiscard]] PlanMemory memoryOf(const mscclpp::ExecutionPlan& plan, int rank, std::int64_t chunkBytes,
                                  std::byte* block, const BufferLayout& layout, std::byte* scratch);

}  // namespace coppice::executor
