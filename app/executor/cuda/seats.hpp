// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// Who of several processes gets which GPUs. Needs none.
namespace coppice::executor::cuda {

/// What a process has to offer and to run.
struct SeatRequest {
  std::vector<std::string> gpus;  ///< identities of those it may use, in its order
  int ranks = 0;                  ///< that it runs
};

/// Processes that may use the same GPUs, in the same order, share them: each gets its part in turn, or, where they are
/// more than GPUs, several get the same one. A process whose GPUs are its own (a launcher gave them out) uses them all.
/// No process gets more GPUs than it has ranks. @return positions in SeatRequest::gpus, by process
[[nodiscard]] std::vector<std::vector<int>> seatProcesses(const std::vector<SeatRequest>& requests);

/// Most ranks that share one GPU.
[[nodiscard]] int maxRanksOnGpu(const std::vector<SeatRequest>& requests, const std::vector<std::vector<int>>& seats);

/// How many processes share each of the GPUs of one.
[[nodiscard]] std::vector<int> processesOnGpus(const std::vector<SeatRequest>& requests,
                                               const std::vector<std::vector<int>>& seats, int process);

/// How many GPUs are used, each counted once.
[[nodiscard]] int countUsed(const std::vector<SeatRequest>& requests, const std::vector<std::vector<int>>& seats);

}  // namespace coppice::executor::cuda
