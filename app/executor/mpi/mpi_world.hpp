// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "mpi/host_state.hpp"
#include "mpi/network.hpp"
#include "mpi/shared_segment.hpp"
#include "program/run_protocol.hpp"

namespace coppice::executor {

/// The processes of this job: MPI started and ended, hosts told apart, calls between processes that neither spin nor
/// hang when a process dies. MPI is called by the main thread alone (MPI_THREAD_FUNNELED).
class MpiWorld {
public:
  /// Starts MPI. Errors: unavailable (MPI could not be started, or grants no threads), limit.
  static Result<std::unique_ptr<MpiWorld>> start();
  /// Ends MPI, or, after a loss, this process.
  ~MpiWorld();
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  [[nodiscard]] int process() const { return m_process; }
  [[nodiscard]] int processes() const { return m_processes; }
  [[nodiscard]] MPI_Comm comm() const { return m_comm; }
  [[nodiscard]] MPI_Comm watchComm() const { return m_watchComm; }
  /// Processes of this host, as positions in the world, ascending; a position in this list is a seat.
  [[nodiscard]] const std::vector<int>& neighbours() const { return m_neighbours; }
  [[nodiscard]] int seat() const { return m_seat; }
  /// -1 = on another host.
  [[nodiscard]] int seatOf(int process) const;
  [[nodiscard]] int hosts() const { return m_hosts; }
  /// Some connections cross the network.
  [[nodiscard]] bool isNetworked() const { return m_hosts > 1; }
  [[nodiscard]] bool isForced() const { return m_isForced; }
  [[nodiscard]] HostState& host() const { return *reinterpret_cast<HostState*>(m_state.data()); }
  [[nodiscard]] const std::string& library() const { return m_library; }

  /// Memory shared with the neighbours. All processes call it with what they need; all fail or none.
  Result<SharedSegment> share(std::int64_t bytes);
  /// New memory in place of `segment` for all processes of the job, where one of them needs more than it has. All
  /// processes call it. Says whether it is new. Errors: as sum() and share().
  Result<bool> grow(SharedSegment& segment, std::int64_t bytes);

  // All processes make these calls in the same order. Errors: internal with the name of a rank that died or
  // hangs; afterwards nothing more can be asked.
  Result<std::int64_t> sum(std::int64_t value);
  Result<double> max(double value);
  Result<std::vector<std::string>> gather(const std::string& lines);
  /// Everybody's bytes, each of its own length, to everybody.
  Result<std::vector<std::string>> gatherAll(const std::string& bytes);
  /// All fail if one does, with the error of the first one.
  Outcome agree(const Outcome& own);
  /// All processes wait for each other.
  /// @param looks how often to look again, giving way to others, before this process sleeps; within one host
  Outcome gate(int looks = 0);

  /// A neighbour that is dead: its rank, else -1.
  int findLost(char& state) const;
  /// A neighbour that a signal has stopped, -1 = none.
  [[nodiscard]] int findStopped() const;
  /// A process died or hangs: no further call between processes is possible, and MPI cannot be finalized. Where it is
  /// process 0, which reports, the first other one of this host writes `lastWords` to standard error.
  /// @param isFirstSilent it is process 0, on another host, that hangs: the first one of this host says so at once
  void giveUp(program::RunExit why, std::string lastWords, bool isFirstSilent = false);
  [[nodiscard]] bool isBroken() const { return m_brokenBy.has_value(); }
  [[nodiscard]] std::optional<program::RunExit> brokenBy() const { return m_brokenBy; }
  /// How long a neighbour may be stopped by a signal while the others wait for it. 0 = forever.
  void setPatience(double seconds) { m_patience = seconds; }
  /// "rank 3 (process 4711 on this host) is gone".
  [[nodiscard]] std::string describe(int rank, char state) const;
  /// What the processes are called where they are not the ranks of the same number: "the process of ranks 4 to 7".
  void setNames(std::vector<std::string> names) { m_names = std::move(names); }

private:
  MpiWorld() = default;
  Outcome open();
  void leave();
  /// @param peer the process that is waited for; -1 = all
  Outcome await(MPI_Request& request, int peer = -1);
  Outcome networkGate();
  /// Error where a neighbour is dead, or has been stopped since `stoppedSince` for too long.
  Outcome lookAround(std::chrono::steady_clock::time_point& stoppedSince);

  MPI_Comm m_comm = MPI_COMM_NULL;
  MPI_Comm m_watchComm = MPI_COMM_NULL;
  MPI_Comm m_hostComm = MPI_COMM_NULL;
  int m_process = 0;
  int m_processes = 1;
  int m_seat = 0;
  int m_hosts = 1;
  bool m_isForced = false;
  std::optional<program::RunExit> m_brokenBy;
  double m_patience = 10;
  std::vector<int> m_neighbours;
  std::vector<std::string> m_hostNames = {};  ///< by process
  std::string m_library;
  std::string m_lastWords;
  bool m_hasNamedFirst = false;
  std::vector<std::string> m_names;  ///< by process; empty = "rank 3"
  SharedSegment m_state;
};

}  // namespace coppice::executor
