// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <ctime>

namespace coppice {

/// Processor time of the calling thread. Budgets in it give the same results on a busy machine as on an idle one.
[[nodiscard]] inline std::chrono::nanoseconds threadTime() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace coppice
