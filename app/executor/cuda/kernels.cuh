// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/block_interpreter.hpp"
#include "cuda/device_machine.cuh"
#include "cuda/elements.hpp"
#include "cuda/kernels.hpp"

namespace coppice::executor::cuda {

/// Four blocks of 256 threads on a multiprocessor: at most 64 registers.
template <typename Element>
__global__ void __launch_bounds__(kMaxThreads, 4) interpret(const BlockView* views, const RunView run) {
  // Not constructed: the view is copied, the rest is set up by the leader.
  __shared__ __align__(16) unsigned char memory[sizeof(Shared)];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  constexpr unsigned kViewWords = sizeof(BlockView) / sizeof(Word);
  static_assert(sizeof(BlockView) % sizeof(Word) == 0, "copied by words");
  for (unsigned word = threadIdx.x; word < kViewWords; word += blockDim.x) {
    reinterpret_cast<Word*>(&shared.view)[word] = reinterpret_cast<const Word*>(views + blockIdx.x)[word];
  }
  __syncthreads();
  DeviceMachine machine(shared, run);
  runBlock<Element>(machine, run);
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
  return {reinterpret_cast<const void*>(&interpret<Element>), reinterpret_cast<const void*>(&divide<Element>)};
}

}  // namespace coppice::executor::cuda
