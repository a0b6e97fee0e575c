// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/device_plan.hpp"

/// The machine of the device: a grid block runs one threadblock.
///
/// Scope: .gpu reaches all blocks of this device and is enough while nobody else takes part; otherwise .sys. Both sides
/// of a word always use the same. Data itself moves by plain loads and stores; none of it is read through a read-only
/// path, since other blocks write it while the kernel runs.
namespace coppice::executor::cuda {

template <typename SharedMemory>
class DeviceMachine {
public:
  static constexpr unsigned kPollSpins = 1024;

  __device__ DeviceMachine(SharedMemory& shared, const Word* abort, bool isSystemWide)
      : m_shared(shared), m_abort(abort), m_isSystemWide(isSystemWide) {}

  __device__ unsigned lane() const { return threadIdx.x; }
  __device__ unsigned lanes() const { return blockDim.x; }
  __device__ void sync() const { __syncthreads(); }
  __device__ SharedMemory& shared() const { return m_shared; }

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


  // ---- for execution plans

  __device__ Word add(Word* word, Word value) const {
    Word before = 0;
    if (m_isSystemWide) {
      asm volatile("atom.relaxed.sys.global.add.u64 %0, [%1], %2;" : "=l"(before) : "l"(word), "l"(value) : "memory");
    } else {
      asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;" : "=l"(before) : "l"(word), "l"(value) : "memory");
    }
    return before;
  }
  __device__ Word exchange(Word* word, Word seen, Word by) const {
    Word before = 0;
    if (m_isSystemWide) {
      asm volatile("atom.relaxed.sys.global.cas.b64 %0, [%1], %2, %3;"
                   : "=l"(before)
                   : "l"(word), "l"(seen), "l"(by)
                   : "memory");
    } else {
      asm volatile("atom.relaxed.gpu.global.cas.b64 %0, [%1], %2, %3;"
                   : "=l"(before)
                   : "l"(word), "l"(seen), "l"(by)
                   : "memory");
    }
    return before;
  }
  /// 8 aligned bytes are never seen half written.
  __device__ Word loadPacket(const Word* packet) const {
    Word value = 0;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(packet) : "memory");
    return value;
  }
  __device__ void storePacket(Word* packet, Word value) const {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(packet), "l"(value) : "memory");
  }
  __device__ Word watch(const Word* /*packet*/) const { return 0; }
  __device__ void idlePacket(const Word* packet, Word watched, unsigned spins) const { idle(packet, watched, spins); }
  __device__ void tellPackets(const unsigned char* /*at*/, std::int64_t /*bytes*/) const {}

private:
  SharedMemory& m_shared;
  const Word* m_abort;
  bool m_isSystemWide;
};

}  // namespace coppice::executor::cuda
