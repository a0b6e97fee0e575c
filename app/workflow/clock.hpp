// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace coppice::workflow {

/// A stop watch.
class Clock {
public:
  /// Seconds since the last call, or since the start.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> elapsed = now - m_start;
    m_start = now;
    return elapsed.count();
  }

private:
  std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
};

}  // namespace coppice::workflow
