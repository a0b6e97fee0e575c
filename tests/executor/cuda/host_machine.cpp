// SPDX-License-Identifier: Apache-2.0
#include "executor/cuda/host_machine.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <ctime>
#include <limits>

namespace coppice::executor::cuda::test {
namespace {

/// The half of a word that a futex can watch: the one that changes with every count.
const std::uint32_t* lowHalf(const Word* word) {
  static_assert(std::endian::native == std::endian::little);
  return reinterpret_cast<const std::uint32_t*>(word);
}

/// Stamps count in their upper half.
const std::uint32_t* highHalf(const Word* word) {
  return lowHalf(word) + 1;
}

/// How many threads may sleep at words like this one: most publishes need no system call.
std::atomic<int>& sleepersAt(const Word* word) {
  static std::array<std::atomic<int>, 4096> sleepers = {};
  return sleepers[reinterpret_cast<std::uintptr_t>(word) / sizeof(Word) % sleepers.size()];
}

/// Memory is shared with other processes, whose sleepers are not known here.
std::atomic<bool> isShared = false;

}  // namespace

void HostMachine::shareMemory() {
  isShared.store(true);
}

void HostMachine::publish(Word* word, Word value) {
  view(word).store(value);
  call(word);
}

void HostMachine::call(const Word* word) {
  if (!isShared.load(std::memory_order_relaxed) && sleepersAt(word).load() == 0) {
    return;
  }
  for (const std::uint32_t* half : {lowHalf(word), highHalf(word)}) {
    syscall(SYS_futex, half, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
  }
}

void HostMachine::idle(const Word* word, Word seen, unsigned /*spins*/) {
  const Word* stamps = m_block.shared.view.recvStamps;
  const bool isStamp = stamps != nullptr && word >= stamps && word < stamps + m_run.depth;
  const timespec patience = {.tv_sec = 0, .tv_nsec = 20'000'000};  // an abort wakes nobody
  sleepersAt(word).fetch_add(1);
  syscall(SYS_futex, isStamp ? highHalf(word) : lowHalf(word), FUTEX_WAIT,
          static_cast<std::uint32_t>(isStamp ? seen >> 32U : seen), &patience, nullptr, 0);
  sleepersAt(word).fetch_sub(1);
}

Word HostMachine::now() const {
  return static_cast<Word>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

}  // namespace coppice::executor::cuda::test
