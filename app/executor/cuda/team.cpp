// SPDX-License-Identifier: Apache-2.0
#include "cuda/team.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

#include "mpi/record.hpp"

namespace coppice::executor::cuda {
namespace {

/// "rank 3", "ranks 4 to 7".
std::string nameRanks(int first, int count) {
  return count == 1 ? "rank " + std::to_string(first)
                    : "ranks " + std::to_string(first) + " to " + std::to_string(first + count - 1);
}

}  // namespace

Result<Team> Team::gather(MpiWorld& world, const std::vector<std::string>& gpus, int ranks) {
  std::string own;
  put(own, static_cast<std::int32_t>(world.neighbours().front()));
  for (const std::string& identity : gpus) {
    putText(own, identity);
  }
  const auto all = world.gatherAll(own);
  if (!all) {
    return all.error();
  }
  Team team;
  team.m_ranks = ranks;
  const std::vector<int> processOfRank = spreadRanks(ranks, world.processes());
  std::vector<std::int32_t> leaders;
  for (std::size_t process = 0; process < all->size(); ++process) {
    std::string_view rest = (*all)[process];
    std::int32_t leader = 0;
    take(rest, leader);
    SeatRequest& request = team.m_requests.emplace_back();
    for (std::string identity; takeText(rest, identity);) {
      request.gpus.push_back(identity);
    }
    request.ranks = static_cast<int>(std::count(processOfRank.begin(), processOfRank.end(), static_cast<int>(process)));
    auto known = std::find(leaders.begin(), leaders.end(), leader);
    if (known == leaders.end()) {
      known = leaders.insert(known, leader);
    }
    team.m_hostOfProcess.push_back(static_cast<int>(known - leaders.begin()));
  }
  team.m_seats = seatProcesses(team.m_requests);
  return team;
}

Outcome Team::gatherDevices(MpiWorld& world, const Gpus& gpus, const std::vector<DeviceRoom>& rooms) {
  const std::map<std::string, std::string> facts = gpus.facts();
  std::string own;
  for (int device = 0; device < gpus.count(); ++device) {
    const auto described = facts.find(gpus.name(device));
    put(own, rooms[device]);
    putText(own, described == facts.end() ? std::string() : described->second);
  }
  const auto all = world.gatherAll(own);
  if (!all) {
    return all.error();
  }
  std::set<std::string> counted;
  for (std::size_t process = 0; process < all->size(); ++process) {
    std::string_view rest = (*all)[process];
    for (const int seat : m_seats[process]) {
      DeviceRoom room;
      std::string kind;
      if (!take(rest, room) || !takeText(rest, kind)) {
        return Error{.code = ErrorCode::internal,
                     .message = "process " + std::to_string(process) + " did not report its limits"};
      }
      m_rooms.push_back(room);
      if (counted.insert(m_requests[process].gpus[seat]).second) {
        ++m_kinds[kind];
      }
    }
  }
  return Done{};
}

std::vector<std::string> Team::names() const {
  std::vector<std::string> names;
  int first = 0;
  for (std::size_t process = 0; process < m_requests.size(); ++process) {
    const int count = m_requests[process].ranks;
    names.push_back(count == 1  ? nameRanks(first, 1)
                    : count > 1 ? "the process of " + nameRanks(first, count)
                                : "process " + std::to_string(process) + ", without ranks,");
    first += count;
  }
  return names;
}

Crew Team::crewFor(int ranks) const {
  Crew crew;
  crew.hostOfProcess = m_hostOfProcess;
  crew.reach = m_reach;
  const auto processes = static_cast<int>(m_hostOfProcess.size());
  const std::vector<int> processOfRank = spreadRanks(ranks, processes);
  for (int process = 0; process < processes; ++process) {
    const int first = crew.devices();
    const auto devices = static_cast<int>(m_seats[process].size());
    crew.processOfDevice.insert(crew.processOfDevice.end(), static_cast<std::size_t>(devices), process);
    const auto own = static_cast<int>(std::count(processOfRank.begin(), processOfRank.end(), process));
    for (const int device : spreadRanks(own, std::max(devices, 1))) {
      crew.deviceOfRank.push_back(first + device);
    }
  }
  return crew;
}

}  // namespace coppice::executor::cuda
