// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/block_interpreter.hpp"

/// The machine of the device: a grid block runs one threadblock.
///
/// Scope: .gpu reaches all blocks of this device and is enough while nobody else takes part; otherwise .sys. Both sides
/// of a word always use the same. Data itself moves by plain loads and stores; none of it is read through a read-only
/// path, since other blocks write it while the kernel runs.
namespace coppice::executor::cuda {

class DeviceMachine {
public:
  static constexpr unsigned kPollSpins = 1024;

  __device__ DeviceMachine(Shared& shared, const RunView& run)
      : m_shared(shared), m_abort(run.abort), m_isSystemWide(run.isSystemWide) {}

  __device__ unsigned lane() const { return threadIdx.x; }
  __device__ unsigned lanes() const { return blockDim.x; }
  __device__ void sync() const { __syncthreads(); }
  __device__ Shared& shared() const { return m_shared; }

  __device__ Word acquire(const Word* word) const {
    Word value = 0;
    if (m_isSystemWide) {
      asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    } else {
      asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    }
    return value;
  }
  /// With the lanes' sync before it: everything they did comes before what is published after it.
  __device__ void fence() const {
    if (m_isSystemWide) {
      asm volatile("fence.acq_rel.sys;" ::: "memory");
    } else {
      asm volatile("fence.acq_rel.gpu;" ::: "memory");
    }
  }
  __device__ void publish(Word* word, Word value) const {
    if (m_isSystemWide) {
      asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
    } else {
      asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
    }
  }
  /// Others on the same multiprocessor get its cycles; longer when the wait is long.
  __device__ void idle(const Word* /*word*/, Word /*seen*/, unsigned spins) const {
    if (spins > kPollSpins) {
      __nanosleep(100);
    }
  }
  __device__ bool isAborted() const {
    Word value = 0;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(m_abort) : "memory");
    return value != 0;
  }
  __device__ void report(Word progress) const {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(m_shared.view.progress), "l"(progress) : "memory");
  }
  __device__ Word now() const {
    Word value = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
    return value;
  }

private:
  Shared& m_shared;
  const Word* m_abort;
  bool m_isSystemWide;
};

}  // namespace coppice::executor::cuda
