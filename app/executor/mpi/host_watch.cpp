// SPDX-License-Identifier: Apache-2.0
#include "mpi/host_watch.hpp"

#include <algorithm>

namespace coppice::executor {

void HostWatch::begin(double stallSeconds) {
  m_stallSeconds = stallSeconds;
  m_changed = Clock::now();
  m_stoppedSince = Clock::time_point::max();
  m_lastProgress = 0;
}

HostWatch::Finding HostWatch::look(std::uint64_t phase) {
  char state = 'R';
  if (const int rank = m_world.findLost(state); rank >= 0) {
    return {Verdict::lost, rank};
  }
  const Clock::time_point now = Clock::now();
  const auto isOver = [&](Clock::time_point since, double patience) {
    return m_stallSeconds > 0 && std::chrono::duration<double>(now - since).count() > patience;
  };
  const int stopped = m_world.findStopped();
  m_stoppedSince = stopped < 0 ? Clock::time_point::max() : std::min(m_stoppedSince, now);
  if (stopped >= 0 && isOver(m_stoppedSince, stopPatience(m_stallSeconds))) {
    return {Verdict::stall, stopped};
  }
  HostState& host = m_world.host();
  std::uint64_t progress = phase;
  int awake = -1;
  for (std::size_t local = 0; local < m_world.neighbours().size(); ++local) {
    progress += host.seat(static_cast<int>(local)).progress.load(std::memory_order_relaxed);
    if (host.sleepersAt(static_cast<int>(local)) == 0) {
      awake = m_world.neighbours()[local];
    }
  }
  if (progress != m_lastProgress) {
    m_lastProgress = progress;
    m_changed = now;
  } else if (isOver(m_changed, m_stallSeconds)) {
    return {Verdict::stall, awake};
  }
  return {};
}

}  // namespace coppice::executor
