// SPDX-License-Identifier: Apache-2.0
#include "mpi/host_state.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>
#include <string>
#include <string_view>

namespace coppice::executor {
namespace {

constexpr std::uint64_t kCount = 0xFFFF'FFFFU;  // of sleepers; above it, calls

}  // namespace

bool futexWait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::chrono::microseconds time) {
  const timespec limit = {.tv_sec = static_cast<time_t>(time.count() / 1000000),
                          .tv_nsec = static_cast<long>(time.count() % 1000000 * 1000)};
  // Not FUTEX_PRIVATE: the word is shared by processes.
  const long answer =
      ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, seen, &limit, nullptr, 0);
  return answer == 0 || errno != ETIMEDOUT;
}

void futexWake(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void HostState::wake(int local) {
  // What was published before was stored in sequentially consistent order, so it is before this look at the
  // sleepers; the sleeper announces itself first and looks then. (No fence: the thread sanitizer does not know them.)
  // They count as active before they can see the call: one that stays awake takes its count back, and the last of
  // those that sleep would otherwise find nobody active while this one still calls.
  Seat& sleeper = seat(local);
  std::uint64_t seen = sleeper.sleepers.load(std::memory_order_seq_cst);
  std::int32_t counted = 0;
  do {
    const auto called = static_cast<std::int32_t>(seen & kCount);
    if (called != counted) {
      active.fetch_add(called - counted, std::memory_order_seq_cst);
      counted = called;
    }
    if (called == 0) {
      return;
    }
  } while (!sleeper.sleepers.compare_exchange_weak(seen, (seen | kCount) + 1, std::memory_order_seq_cst));
  sleeper.bell.fetch_add(1, std::memory_order_seq_cst);
  futexWake(sleeper.bell);
}

void HostState::wakeAll(int seats) {
  for (int local = 0; local < seats; ++local) {
    wake(local);
  }
}

std::uint32_t HostState::announce(int local) {
  return static_cast<std::uint32_t>(seat(local).sleepers.fetch_add(1, std::memory_order_seq_cst) >> 32U);
}

void HostState::stayAwake(int local, std::uint32_t announced) {
  Seat& own = seat(local);
  std::uint64_t sleepers = own.sleepers.load(std::memory_order_seq_cst);
  // After a call what is counted is the sleep of others; taking that back would leave them asleep forever.
  while (sleepers >> 32U == announced) {
    if (own.sleepers.compare_exchange_weak(sleepers, sleepers - 1, std::memory_order_seq_cst)) {
      return;
    }
  }
  // Another worker woke this one as if it slept, and counted it twice.
  active.fetch_sub(1, std::memory_order_seq_cst);
}

bool HostState::declare(Verdict what, int rank) {
  std::uint64_t expected = 0;
  const std::uint64_t wanted = static_cast<std::uint64_t>(rank + 1) << 32U | static_cast<std::uint64_t>(what);
  return judgement.compare_exchange_strong(expected, wanted, std::memory_order_seq_cst);
}

char processState(std::int64_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH ? '-' : '?';
  }
  std::array<char, 512> text{};
  const ssize_t length = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  if (length <= 0) {
    return '-';
  }
  // "PID (NAME) STATE …", and a name may hold anything.
  const std::string_view line(text.data(), static_cast<std::size_t>(length));
  const std::size_t name = line.rfind(')');
  return name == std::string_view::npos || name + 2 >= line.size() ? '?' : line[name + 2];
}

}  // namespace coppice::executor
