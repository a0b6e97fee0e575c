// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace coppice::executor {

/// How long a worker with a core of its own looks for work before it sleeps. A wait that ended with a sleep, and would
/// have ended within the longest search, doubles the limit; a longer one halves it.
class SpinLimit {
public:
  using Duration = std::chrono::steady_clock::duration;
  /// More than it takes to wake a process on another core: 10 to 30 us on a virtual machine. With less, two processes
  /// that wait for each other would never find anything before they sleep, and would stay at the speed of wake-ups.
  static constexpr Duration kMin = std::chrono::microseconds(60);
  static constexpr Duration kMax = std::chrono::microseconds(500);

  [[nodiscard]] Duration current() const { return m_current; }
  /// @param wait from the first search in vain to the end of the sleep
  void slept(Duration wait) { m_current = wait < kMax ? std::min(m_current * 2, kMax) : std::max(m_current / 2, kMin); }

private:
  Duration m_current = kMax;
};

}  // namespace coppice::executor
