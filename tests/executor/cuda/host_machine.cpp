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

#include "engine/pause.hpp"

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

/// How many threads may sleep at halves like this one: most publishes need no system call.
std::atomic<int>& sleepersAt(const std::uint32_t* half) {
  static std::array<std::atomic<int>, 8192> sleepers = {};
  return sleepers[reinterpret_cast<std::uintptr_t>(half) / sizeof(*half) % sleepers.size()];
}

constexpr int kYields = 8;  // before a thread sleeps
constexpr std::uintptr_t kPage = 4096;

/// Memory is shared with other processes, whose sleepers are not known here.
std::atomic<bool> isShared = false;

/// A futex of one process is found by its address, without a look at the page.
int privately() {
  return isShared.load(std::memory_order_relaxed) ? 0 : FUTEX_PRIVATE_FLAG;
}

}  // namespace

void Meeting::wait() {
  const std::uint32_t round = m_round.load();
  if (m_come.fetch_add(1) + 1 == m_lanes) {
    m_come.store(0);
    m_round.store(round + 1);
    if (m_sleepers.load() > 0) {
      syscall(SYS_futex, &m_round, FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
    }
    return;
  }
  for (int yields = 0; yields < kYields && m_round.load() == round && Pause::yield(); ++yields) {
  }
  m_sleepers.fetch_add(1);
  while (m_round.load() == round) {
    syscall(SYS_futex, &m_round, FUTEX_WAIT_PRIVATE, round, nullptr, nullptr, 0);
  }
  m_sleepers.fetch_sub(1);
}

void Sleepers::shareMemory() {
  isShared.store(true);
}

void Sleepers::call(const Word* word) {
  for (const std::uint32_t* half : {lowHalf(word), highHalf(word)}) {
    if (isShared.load(std::memory_order_relaxed) || sleepersAt(half).load() > 0) {
      syscall(SYS_futex, half, FUTEX_WAKE | privately(), std::numeric_limits<int>::max(), nullptr, nullptr, 0);
    }
  }
}

void Sleepers::sleep(const Word* word, Word seen, bool upperHalf) {
  const std::uint32_t* const half = upperHalf ? highHalf(word) : lowHalf(word);
  const auto expected = static_cast<std::uint32_t>(upperHalf ? seen >> 32U : seen);
  for (int yields = 0; yields < kYields && Pause::yield(); ++yields) {
    if (std::atomic_ref(*const_cast<std::uint32_t*>(half)).load() != expected) {
      return;
    }
  }
  const timespec patience = {.tv_sec = 0, .tv_nsec = 20'000'000};
  sleepersAt(half).fetch_add(1);
  syscall(SYS_futex, half, FUTEX_WAIT | privately(), expected, &patience, nullptr, 0);
  sleepersAt(half).fetch_sub(1);
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
