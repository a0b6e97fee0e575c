// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/block_interpreter.hpp"
#include "cuda/device_machine.cuh"
#include "cuda/elements.hpp"
#include "cuda/kernels.hpp"
#include "cuda/plan_interpreter.hpp"

namespace coppice::executor::cuda {

/// What a block of the grid runs, in its shared memory. Copied by all threads.
template <typename View>
__device__ void copyView(View& to, const View& from) {
  constexpr unsigned kWords = sizeof(View) / sizeof(Word);
  static_assert(sizeof(View) % sizeof(Word) == 0, "copied by words");
  for (unsigned word = threadIdx.x; word < kWords; word += blockDim.x) {
    reinterpret_cast<Word*>(&to)[word] = reinterpret_cast<const Word*>(&from)[word];
  }
  __syncthreads();
}

/// Four blocks of 256 threads on a multiprocessor: at most 64 registers.
template <typename Element>
__global__ void __launch_bounds__(kMaxThreads, 4) interpret(const BlockView* views, const RunView run) {
  // Not constructed: the view is copied, the rest is set up by the leader.
  __shared__ __align__(16) unsigned char memory[sizeof(Shared)];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  copyView(shared.view, views[blockIdx.x]);
  DeviceMachine<Shared> machine(shared, run.abort, run.isSystemWide);
  runBlock<Element>(machine, run);
}

/// The same for an execution plan of MSCCL++.
template <typename Element>
__global__ void __launch_bounds__(kMaxThreads, 4) interpretPlan(const PlanView* views, const PlanRun run) {
  __shared__ __align__(16) unsigned char memory[sizeof(PlanShared)];
  PlanShared& shared = *reinterpret_cast<PlanShared*>(memory);
  copyView(shared.view, views[blockIdx.x]);
  DeviceMachine<PlanShared> machine(shared, run.abort, run.isSystemWide);
  runPlanBlock<Element>(machine, run);
}

template <typename Element>
__global__ void divide(unsigned char* data, long long elements, int divisor) {
  auto* values = reinterpret_cast<typename Element::Stored*>(data);
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < elements; i += stride) {
    values[i] = Element::divide(values[i], divisor);
  }
}

template <typename Element>
Kernels kernelsOfElement() {
  return {reinterpret_cast<const void*>(&interpret<Element>), reinterpret_cast<const void*>(&interpretPlan<Element>),
          reinterpret_cast<const void*>(&divide<Element>)};
}

}  // namespace coppice::executor::cuda
