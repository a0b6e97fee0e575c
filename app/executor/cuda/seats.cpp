// SPDX-License-Identifier: Apache-2.0
#include "cuda/seats.hpp"

#include <algorithm>
#include <map>

#include "cuda/shape.hpp"

namespace coppice::executor::cuda {
namespace {

/// Ranks by the identity of the GPU they run on.
std::map<std::string, int> ranksOfGpus(const std::vector<SeatRequest>& requests,
                                       const std::vector<std::vector<int>>& seats) {
  std::map<std::string, int> ranks;
  for (std::size_t process = 0; process < requests.size(); ++process) {
    if (seats[process].empty()) {
      continue;
    }
    for (const int device : spreadRanks(requests[process].ranks, static_cast<int>(seats[process].size()))) {
      ++ranks[requests[process].gpus[seats[process][device]]];
    }
  }
  return ranks;
}

}  // namespace

std::vector<std::vector<int>> seatProcesses(const std::vector<SeatRequest>& requests) {
  std::map<std::vector<std::string>, std::vector<std::size_t>> groups;
  for (std::size_t process = 0; process < requests.size(); ++process) {
    if (requests[process].ranks > 0) {
      groups[requests[process].gpus].push_back(process);
    }
  }
  std::vector<std::vector<int>> seats(requests.size());
  for (const auto& [gpus, processes] : groups) {
    const std::size_t members = processes.size();
    for (std::size_t member = 0; member < members && !gpus.empty(); ++member) {
      const std::size_t process = processes[member];
      const std::size_t begin = member * gpus.size() / members;
      const std::size_t end = std::max(begin + 1, (member + 1) * gpus.size() / members);
      const auto wanted = static_cast<std::size_t>(requests[process].ranks);
      for (std::size_t gpu = begin; gpu < std::min(end, begin + wanted); ++gpu) {
        seats[process].push_back(static_cast<int>(gpu));
      }
    }
  }
  return seats;
}

int maxRanksOnGpu(const std::vector<SeatRequest>& requests, const std::vector<std::vector<int>>& seats) {
  int max = 0;
  for (const auto& [gpu, ranks] : ranksOfGpus(requests, seats)) {
    max = std::max(max, ranks);
  }
  return max;
}

std::vector<int> processesOnGpus(const std::vector<SeatRequest>& requests, const std::vector<std::vector<int>>& seats,
                                 int process) {
  std::map<std::string, int> processes;
  for (std::size_t of = 0; of < requests.size(); ++of) {
    for (const int gpu : seats[of]) {
      ++processes[requests[of].gpus[gpu]];
    }
  }
  std::vector<int> counts;
  const auto own = static_cast<std::size_t>(process);
  for (const int gpu : seats[own]) {
    counts.push_back(processes[requests[own].gpus[gpu]]);
  }
  return counts;
}

int countUsed(const std::vector<SeatRequest>& requests, const std::vector<std::vector<int>>& seats) {
  return static_cast<int>(ranksOfGpus(requests, seats).size());
}

}  // namespace coppice::executor::cuda
