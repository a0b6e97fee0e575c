// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/device_plan.hpp"

/// The kernels, for host code that launches them through the runtime API.
namespace coppice::executor::cuda {

/// Most threads of a block of the interpreter.
inline constexpr int kMaxThreads = 256;

/// As DataType.
inline constexpr int kTypes = 8;

struct Kernels {
  /// void(const BlockView* views, RunView run); one block for each view, all resident at once.
  const void* interpret = nullptr;
  /// void(const PlanView* views, PlanRun run); the same for execution plans of MSCCL++.
  const void* interpretPlan = nullptr;
  /// void(unsigned char* data, long long elements, int divisor); the end of avg.
  const void* divide = nullptr;
};
/// @param type a DataType
[[nodiscard]] Kernels kernelsOf(int type);

// One translation unit for each pair of types.
[[nodiscard]] Kernels int8Kernels();
[[nodiscard]] Kernels uint8Kernels();
[[nodiscard]] Kernels int32Kernels();
[[nodiscard]] Kernels int64Kernels();
[[nodiscard]] Kernels halfKernels();
[[nodiscard]] Kernels bfloatKernels();
[[nodiscard]] Kernels floatKernels();
[[nodiscard]] Kernels doubleKernels();

}  // namespace coppice::executor::cuda
