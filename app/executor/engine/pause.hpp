// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace coppice::executor {

/// Rests between two looks for what others do. The first times it only gives the core to them; then it sleeps, an
/// eighth of the wait so far, so that a short wait is seen soon and a long one leaves the core to others.
class Pause {
public:
  /// @param yields  times before it sleeps
  explicit Pause(int yields = 0) : m_yields(yields), m_left(yields) {}

  void rest() {
    if (m_left > 0 && yield()) {
      --m_left;
      return;
    }
    std::this_thread::sleep_for(m_time);
    m_time = std::min(m_time + m_time / 8, kLongest);
  }
  /// Something has moved.
  void restart() {
    m_left = m_yields;
    m_time = kShortest;
  }

  /// Gives the core to others, unless it came back late a moment ago. Something else is busy there then: a thread that
  /// sleeps is woken before it goes on, one that yields waits until its turn is over. @return whether it did
  static bool yield() {
    thread_local Clock::time_point lastLate;
    const Clock::time_point start = Clock::now();
    if (start - lastLate < kBusy) {
      return false;
    }
    std::this_thread::yield();
    if (const Clock::time_point end = Clock::now(); end - start > kLate) {
      lastLate = end;
    }
    return true;
  }

private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::nanoseconds kShortest = std::chrono::microseconds(20);
  static constexpr std::chrono::nanoseconds kLongest = std::chrono::microseconds(500);
  static constexpr std::chrono::nanoseconds kLate = std::chrono::microseconds(500);
  static constexpr std::chrono::nanoseconds kBusy = std::chrono::milliseconds(20);

  const int m_yields;
  int m_left;
  std::chrono::nanoseconds m_time = kShortest;
};

}  // namespace coppice::executor
