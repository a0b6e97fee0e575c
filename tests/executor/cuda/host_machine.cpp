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

constexpr std::uintptr_t kPage = 4096;

/// Memory is shared with other processes, whose sleepers are not known here.
std::atomic<bool> isShared = false;

}  // namespace

void Sleepers::shareMemory() {
  isShared.store(true);
}

void Sleepers::call(const Word* word) {
  if (!isShared.load(std::memory_order_relaxed) && sleepersAt(word).load() == 0) {
    return;
  }
  for (const std::uint32_t* half : {lowHalf(word), highHalf(word)}) {
    syscall(SYS_futex, half, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
  }
}

void Sleepers::sleep(const Word* word, Word seen, bool upperHalf) {
  const timespec patience = {.tv_sec = 0, .tv_nsec = 20'000'000};
  sleepersAt(word).fetch_add(1);
  syscall(SYS_futex, upperHalf ? highHalf(word) : lowHalf(word), FUTEX_WAIT,
          static_cast<std::uint32_t>(upperHalf ? seen >> 32U : seen), &patience, nullptr, 0);
  sleepersAt(word).fetch_sub(1);
}

void HostMachine::idle(const Word* word, Word seen, unsigned /*spins*/) {
  const Word* stamps = shared().view.recvStamps;
  Sleepers::sleep(word, seen, stamps != nullptr && word >= stamps && word < stamps + m_depth);
}

Word HostMachine::now() const {
  return static_cast<Word>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

Word* HostPlanMachine::wordOfPage(const void* at) {
  static std::array<Word, 4096> words = {};
  return &words[reinterpret_cast<std::uintptr_t>(at) / kPage % words.size()];
}

void HostPlanMachine::tellPackets(const unsigned char* at, std::int64_t bytes) {
  for (auto page = reinterpret_cast<std::uintptr_t>(at) / kPage;
       page <= (reinterpret_cast<std::uintptr_t>(at) + static_cast<std::uintptr_t>(bytes) - 1) / kPage; ++page) {
    add(wordOfPage(reinterpret_cast<const void*>(page * kPage)), 1);
  }
}

}  // namespace coppice::executor::cuda::test
