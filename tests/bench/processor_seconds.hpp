// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>

namespace coppice::bench {

/// Processor time of all threads of the process so far.
[[nodiscard]] inline double processorSeconds() {
  std::timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace coppice::bench
