// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "engine/backend.hpp"
#include "engine/interpreter.hpp"
#include "engine/stuck.hpp"
#include "mpi/host_watch.hpp"
#include "mpi/mpi_world.hpp"
#include "mpi/network.hpp"
#include "mpi/phase_barrier.hpp"

namespace coppice::executor {

/// What a block of this host last waited for; its process writes it, others read it to explain a standstill.
struct PublicPosition {
  std::atomic<std::int64_t> tile = 0;
  std::atomic<std::int32_t> op = 0;
  std::atomic<std::uint32_t> wait = 0;
};

/// All that a process needs to run its rank: filled in by the backend for one plan at one size.
struct RankSetup {
  const Plan* plan = nullptr;
  Script script = {};
  Geometry geometry = {};
  bool streams = false;
  /// Every message is copied, so no other rank reads this rank's buffers: it begins an iteration as soon as it has
  /// finished the one before, without a barrier. A sender is never more than `depth` messages ahead.
  bool runsAhead = false;
  std::vector<std::byte*> bases = {};            ///< three per rank, by program::Buffer; null on other hosts
  std::vector<ConnectionView> connections = {};  ///< by connection of the plan
  std::vector<Counter*> flags = {};              ///< by block; null on other hosts
  std::vector<PublicPosition*> positions = {};   ///< by block; null on other hosts
  int firstBlock = 0;
  int endBlock = 0;
};

/// Runs the blocks of this process's rank on its workers. A worker takes any block that can continue; where none can,
/// it looks again for a while (Patience) and then sleeps until another process, or a neighbour of its own, has
/// published something that its process may wait for.
class MpiRunner {
public:
  MpiRunner(MpiWorld& world, RankSetup setup, int workers);

  /// Called by the main thread before and after work().
  Outcome begin(const RunRequest& request);
  /// Body of a worker; worker 0 is the main thread.
  void work(int worker);
  std::optional<RunFailure> finish(RunTimes& times);
  std::vector<program::TraceEvent> takeTrace(std::int64_t& dropped);
  void abort() noexcept { m_isAborted.store(true); }
  /// Ends what the network has under way. All processes.
  void close() { m_proxy.stop(); }
  [[nodiscard]] const RankSetup& setup() const { return m_setup; }

private:
  using Clock = std::chrono::steady_clock;
  class Host;
  struct Context;
  struct alignas(64) Task {
    Cursor cursor;
    std::uint64_t runs = 0;  ///< finished, since prepare
    std::atomic<bool> isTaken = false;
  };
  struct alignas(64) Trace {
    std::vector<program::TraceEvent> events;
    std::int64_t dropped = 0;
  };

  /// What a worker does before it sleeps.
  struct Patience {
    int spins = 0;         ///< looks in a row
    int yields = 0;        ///< looks after these, each after giving the core to another process
    bool isTimed = false;  ///< looks for a time instead, up to SpinLimit
  };

  [[nodiscard]] std::uint64_t phase() const;
  [[nodiscard]] Verdict verdict() const;
  [[nodiscard]] Patience patience() const;
  [[nodiscard]] bool isOver() const;
  bool scan(Context& context, std::uint64_t phase);
  void rest(Context& context, std::uint64_t phase);
  void arrive();
  void arriveAtHost();
  bool pollNetwork(bool isIdle);
  void lookAround();
  void stopIfAsked();
  void declare(Verdict verdict, int rank);
  void divide();
  void notePhases(std::uint64_t phase);
  Outcome settle(Verdict& agreed);
  RunFailure explain(Verdict verdict, int culprit);
  std::vector<Position> positions();
  void exchange(std::vector<Position>& positions);

  MpiWorld& m_world;
  HostState& m_host;
  Seat& m_seat;
  RankSetup m_setup;
  int m_workers = 1;
  bool m_isNetworked = false;
  Patience m_patience;
  double m_jitterSeconds = 0;  ///< longest random sleep before an operation
  Proxy m_proxy;
  Watch m_watch;
  HostWatch m_hostWatch;
  std::deque<Task> m_tasks;
  std::vector<Trace> m_traces;
  RunRequest m_request;
  std::uint64_t m_firstPhase = 0;
  std::uint64_t m_endPhase = 0;
  std::uint64_t m_phasesPerRun = 1;  ///< two where the results are divided at the end
  std::uint64_t m_runsBefore = 0;    ///< since prepare
  std::atomic<int> m_finished = 0;   ///< blocks at their end in this phase
  std::atomic<bool> m_isAborted = false;

  // With a network, or where it runs ahead, phases are those of the process.
  std::atomic<std::uint64_t> m_ownPhases = 0;
  std::uint64_t m_hostPhase = 0;  ///< of the host, before this run; where this process runs ahead

  // With a network. The main thread alone touches what follows the first two.
  std::atomic<std::uint64_t> m_networkVerdict = 0;
  std::atomic<bool> m_hasArrived = false;
  PhaseBarrier m_barrier;
  std::uint64_t m_messages = 0;  ///< times that the proxy moved something
  Clock::time_point m_looked;

  Clock::time_point m_origin;
  Clock::time_point m_traceOrigin;  ///< the same moment in all processes
  std::uint64_t m_notedPhase = 0;
  std::uint64_t m_doneBySelf = ~std::uint64_t{0};  ///< last one in which the main thread did its own part
  Clock::time_point m_runStart;
  std::vector<double> m_seconds;
};

}  // namespace coppice::executor
