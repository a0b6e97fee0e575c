// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

/// What the processes of one host know of each other, in shared memory: who sleeps, who works, how far a run is.
namespace coppice::executor {

/// Why a run ends early. The first one counts.
enum class Verdict : std::uint32_t { none, deadlock, stall, lost, cancelled };

/// One process.
struct alignas(64) Seat {
  std::atomic<std::uint32_t> bell = 0;  ///< raised to wake its workers
  /// Lower half: workers asleep, or about to look a last time before they sleep. Upper half: calls that woke such,
  /// ever.
  std::atomic<std::uint64_t> sleepers = 0;
  std::atomic<std::int32_t> pid = 0;
  std::atomic<std::int32_t> workers = 1;
  std::atomic<std::int32_t> core = -1;                  ///< where its main worker last looked for work
  alignas(64) std::atomic<std::uint64_t> progress = 0;  ///< operations done, ever
};

/// Followed by the seats.
struct HostState {
  /// Workers awake on this host, and sleepers that have already been woken. Zero means that nothing can ever move
  /// again: a process that goes to sleep has looked after announcing it, and only the awake make anything move.
  alignas(64) std::atomic<std::int32_t> active = 0;
  alignas(64) std::atomic<std::uint32_t> arrived = 0;    ///< processes at the barrier between two phases
  alignas(64) std::atomic<std::uint64_t> phase = 0;      ///< barriers passed, ever
  alignas(64) std::atomic<std::uint64_t> judgement = 0;  ///< Verdict, and above it the rank it names, plus one
  alignas(64) std::atomic<std::uint32_t> gateArrived = 0;
  alignas(64) std::atomic<std::uint32_t> gate = 0;  ///< passages through the gate, ever

  [[nodiscard]] Seat& seat(int local) { return reinterpret_cast<Seat*>(this + 1)[local]; }
  static std::int64_t bytesFor(int seats) {
    return static_cast<std::int64_t>(sizeof(HostState) + static_cast<std::size_t>(seats) * sizeof(Seat));
  }

  /// Wakes the workers of a process that sleep. After whatever they may wait for was published, in sequentially
  /// consistent order.
  void wake(int local);
  void wakeAll(int seats);
  /// A worker says that it will sleep, and then looks a last time. @return for stayAwake and isCalled
  std::uint32_t announce(int local);
  /// Whether the sleep that was announced so has been ended by a call.
  [[nodiscard]] bool isCalled(int local, std::uint32_t announced) {
    return seat(local).sleepers.load(std::memory_order_seq_cst) >> 32U != announced;
  }
  /// Takes back the announcement of a worker that found work in its last look.
  void stayAwake(int local, std::uint32_t announced);
  [[nodiscard]] int sleepersAt(int local) {
    return static_cast<int>(seat(local).sleepers.load(std::memory_order_seq_cst) & 0xFFFF'FFFFU);
  }
  [[nodiscard]] Verdict verdict() const {
    return static_cast<Verdict>(judgement.load(std::memory_order_seq_cst) & 0xFFU);
  }
  /// The rank that a stall or a loss is about; -1 = none.
  [[nodiscard]] int culprit() const { return static_cast<int>(judgement.load(std::memory_order_acquire) >> 32U) - 1; }
  /// @return whether this was the first
  bool declare(Verdict what, int rank);
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

// How soon a rank is named that does not continue, in seconds, where a run gives up after `stall` seconds without
// progress. Each is less than the stall where that is 10 s, which is the default. 0 = no limit.

/// A process of this host that a signal has stopped.
[[nodiscard]] constexpr double stopPatience(double stall) {
  return stall / 2;
}
/// A process behind the network that does not answer process 0.
[[nodiscard]] constexpr double silenceOfOthers(double stall) {
  return 0.8 * stall;
}
/// Process 0, which asks the others several times a second. Later than it names another one that does not answer.
[[nodiscard]] constexpr double silenceOfFirst(double stall) {
  return stall <= 0 ? 0 : std::max(0.9 * stall, std::min(stall + 5, 9.0));
}

/// Sleeps until the word is no longer `seen`, a wake-up comes, or the time is over. Works between processes. May return
/// early. @return false when the time was over
bool futexWait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::chrono::microseconds time);
void futexWake(std::atomic<std::uint32_t>& word);

/// One letter of /proc/PID/stat: R, S, D, T (stopped), Z (dead, not buried); '-' where there is no such process, '?'
/// where it cannot be told.
[[nodiscard]] char processState(std::int64_t pid);

}  // namespace coppice::executor
