// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "cuda/gpus.hpp"
#include "cuda/launch_loop.hpp"
#include "cuda/progress.hpp"
#include "cuda/station.hpp"
#include "engine/backend.hpp"
#include "mpi/mpi_world.hpp"
#include "mpi/network.hpp"
#include "mpi/phase_barrier.hpp"

namespace coppice::executor::cuda {

/// Launches iterations on the GPUs of all processes, one after the other everywhere. While it waits, it moves what goes
/// over the network, and has an eye on stops, on blocks that stand still and on the other processes.
class TeamLoop {
public:
  TeamLoop(MpiWorld& world, Gpus& gpus, Station& station, const Tuning& tuning)
      : m_world(world),
        m_gpus(gpus),
        m_station(station),
        m_tuning(tuning),
        m_watch(world.watchComm()),
        m_barrier(world) {}

  /// All processes. After a failure the station has no plan. @pre the station is ready
  RunResult run(const RunRequest& request, Proxy& proxy);
  /// From any thread and signal handlers.
  void abort() noexcept { m_isAborted = true; }
  /// A kernel did not end: nothing can be released, and nothing can be run.
  [[nodiscard]] bool isLost() const { return m_isLost; }
  /// When the last run began, in nanoseconds of the steady clock.
  [[nodiscard]] std::int64_t origin() const { return m_origin; }

private:
  using Clock = std::chrono::steady_clock;

  Outcome begin(const RunRequest& request);
  RunTimes iterate(Proxy& proxy);
  /// Starts something on the devices, and continues when all processes have finished. @return false where the run ends
  template <typename Start>
  bool phase(Proxy& proxy, Start start);
  bool lookAt(const Proxy& proxy, Clock::time_point now, bool isDone);
  void fail(const Error& error);
  void declare(Verdict what, int culprit);
  void stopBlocks();
  RunResult finish(RunTimes times);
  RunFailure explainEnd(Verdict what);

  MpiWorld& m_world;
  Gpus& m_gpus;
  Station& m_station;
  Tuning m_tuning;
  Watch m_watch;
  PhaseBarrier m_barrier;
  std::atomic<bool> m_isAborted = false;
  bool m_isLost = false;
  std::uint64_t m_messages = 0;  ///< times that the proxy moved something, ever
  std::uint64_t m_phases = 0;    ///< ever

  // Of the run under way.
  RunRequest m_request;
  std::int64_t m_origin = 0;
  Verdict m_verdict = Verdict::none;
  int m_culprit = -1;
  std::optional<StrandWords> m_standings;  ///< when the verdict fell
  std::optional<Error> m_fault;            ///< of this process
  Clock::time_point m_faultTime;
  std::optional<StallWatch> m_stall;
  bool m_isStuck = false;  ///< blocks here wait, and nothing has changed for long
  std::int64_t m_waiting = 0;
  Clock::time_point m_looked;
  Clock::time_point m_searched;
  Clock::time_point m_moved;
};

}  // namespace coppice::executor::cuda
