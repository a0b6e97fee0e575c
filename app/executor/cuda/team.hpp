// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cuda/gpus.hpp"
#include "cuda/seats.hpp"
#include "cuda/shape.hpp"
#include "cuda/wiring.hpp"
#include "mpi/mpi_world.hpp"

namespace coppice::executor::cuda {

/// What all processes of a run know of each other: who has which ranks and GPUs, and whose memory a GPU reaches. It is
/// the same in every process. Ranks are dealt out to processes, and those of a process to its devices, always in order.
class Team {
public:
  /// Who has what. All processes call it. Errors: of a process that is lost.
  /// @param gpus identities of those that this process may use, in its order
  static Result<Team> gather(MpiWorld& world, const std::vector<std::string>& gpus, int ranks);
  /// What the devices are. All processes call it. Errors: of a process that is lost, internal.
  /// @param gpus those of this process @param rooms by own device
  Outcome gatherDevices(MpiWorld& world, const Gpus& gpus, const std::vector<DeviceRoom>& rooms);
  /// By device of the run.
  void setReach(Reach reach) { m_reach = std::move(reach); }

  [[nodiscard]] int ranks() const { return m_ranks; }
  /// Ranks that a process runs.
  [[nodiscard]] int ranksOf(int process) const { return m_requests[process].ranks; }
  /// Devices of a process, as positions in the list that it gave.
  [[nodiscard]] const std::vector<int>& seatsOf(int process) const { return m_seats[process]; }
  [[nodiscard]] bool areNeighbours(int a, int b) const { return m_hostOfProcess[a] == m_hostOfProcess[b]; }
  /// What processes are called, after their ranks.
  [[nodiscard]] std::vector<std::string> names() const;
  /// GPUs that are used, each counted once.
  [[nodiscard]] int usedGpus() const { return countUsed(m_requests, m_seats); }
  [[nodiscard]] int mostRanksOnGpu() const { return maxRanksOnGpu(m_requests, m_seats); }
  /// How many processes share each device of one.
  [[nodiscard]] std::vector<int> sharersOf(int process) const { return processesOnGpus(m_requests, m_seats, process); }
  /// By device of the run.
  [[nodiscard]] const std::vector<DeviceRoom>& rooms() const { return m_rooms; }
  /// GPUs of the run by what they are.
  [[nodiscard]] const std::map<std::string, int>& kinds() const { return m_kinds; }
  /// Who runs a plan of this many ranks.
  [[nodiscard]] Crew crewFor(int ranks) const;

private:
  int m_ranks = 0;
  std::vector<SeatRequest> m_requests;
  std::vector<std::vector<int>> m_seats;
  std::vector<int> m_hostOfProcess;
  std::vector<DeviceRoom> m_rooms;
  std::map<std::string, int> m_kinds;
  Reach m_reach;
};

}  // namespace coppice::executor::cuda
