// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "mpi/mpi_world.hpp"

namespace coppice::executor {

/// How processes of one host learn that one of them is gone or stopped, or that nothing moves. The main thread of each
/// looks now and then while it sleeps.
class HostWatch {
public:
  explicit HostWatch(MpiWorld& world) : m_world(world) {}

  struct Finding {
    Verdict verdict = Verdict::none;  ///< lost or stall
    int rank = -1;                    ///< -1 = none in particular
  };

  /// At the start of a run. @param stallSeconds 0 = forever
  void begin(double stallSeconds);
  /// @param phase that the run is in
  [[nodiscard]] Finding look(std::uint64_t phase);

private:
  using Clock = std::chrono::steady_clock;

  MpiWorld& m_world;
  double m_stallSeconds = 0;
  Clock::time_point m_changed;  ///< last time that anything on this host moved
  Clock::time_point m_stoppedSince = Clock::time_point::max();
  std::uint64_t m_lastProgress = 0;
};

}  // namespace coppice::executor
