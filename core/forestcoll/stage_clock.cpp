// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/stage_clock.hpp"

namespace coppice::forestcoll {

void StageClock::done(const char* stage) {
  const auto now = std::chrono::steady_clock::now();
  const double elapsed = std::chrono::duration<double>(now - m_start).count();
  m_start = now;
  for (StageSeconds& entry : m_seconds) {
    if (entry.stage == stage) {
      entry.seconds += elapsed;
      return;
    }
  }
  m_seconds.push_back({stage, elapsed});
}

}  // namespace coppice::forestcoll
