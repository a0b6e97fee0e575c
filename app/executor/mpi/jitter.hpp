// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

namespace coppice::executor {

/// Random sleeps of a worker before its operations, for tests. COPPICE_EXEC_JITTER gives the longest, in microseconds.
class Jitter {
public:
  Jitter(double longest, int process, int worker)
      : m_longest(longest), m_random(static_cast<unsigned>(process * 64 + worker + 1)) {}

  /// Seconds; 0 = no sleeps.
  [[nodiscard]] static double longest() {
    constexpr long kMax = 1000000;
    const char* const text = std::getenv("COPPICE_EXEC_JITTER");
    return text == nullptr ? 0 : static_cast<double>(std::clamp(std::strtol(text, nullptr, 10), 0L, kMax)) * 1e-6;
  }
  void rest() {
    if (m_longest > 0 && m_random() % kShare == 0) {
      std::this_thread::sleep_for(
          std::chrono::duration<double>(std::uniform_real_distribution<double>(0, m_longest)(m_random)));
    }
  }

private:
  static constexpr int kShare = 8;  ///< one operation in this many sleeps

  double m_longest;
  std::minstd_rand m_random;
};

}  // namespace coppice::executor
