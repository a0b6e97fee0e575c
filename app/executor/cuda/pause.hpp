// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace coppice::executor::cuda {

/// Sleeps between looks of the main thread at its GPUs: an eighth of the wait so far, so that a short wait is seen soon
/// and a long one leaves the core to others.
class Pause {
public:
  void rest() {
    std::this_thread::sleep_for(m_time);
    m_time = std::min(m_time + m_time / 8, kLongest);
  }
  /// Something has moved.
  void restart() { m_time = kShortest; }

private:
  static constexpr std::chrono::nanoseconds kShortest = std::chrono::microseconds(20);
  static constexpr std::chrono::nanoseconds kLongest = std::chrono::microseconds(500);
  std::chrono::nanoseconds m_time = kShortest;
};

}  // namespace coppice::executor::cuda
