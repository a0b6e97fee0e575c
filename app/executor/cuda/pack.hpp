// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "cuda/device_plan.hpp"
#include "plan/plan.hpp"

/// From a plan to what the interpreter kernel reads. Needs no GPU.
namespace coppice::executor::cuda {

struct PackedBlock {
  std::uint32_t firstOp = 0;
  std::uint32_t opCount = 0;
};

struct PackedPlan {
  std::vector<PackedOp> ops;  ///< one for each step, threadblock by threadblock
  std::vector<PackedBlock> blocks;
  std::vector<bool> usesSlots;  ///< by connection: some of its messages are copied into slots
};

/// @param canPull by connection: the receiver can read the sender's memory
/// Errors: limit (numbers that do not fit 16 bits).
Result<PackedPlan> packPlan(const Plan& plan, const std::vector<bool>& canPull);

/// Sizes of a run; addresses, tilesBefore and isSystemWide are left. Errors: limit (messages of 256 MiB and more).
Result<RunView> makeRunView(const Plan& plan, const Geometry& geometry, ReduceOp op, int strands);

}  // namespace coppice::executor::cuda
