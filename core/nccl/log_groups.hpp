// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nccl/communicator_join.hpp"
#include "nccl/log_facts.hpp"
#include "nccl/run.hpp"

/// Which ranks of which processes make one communicator.
namespace coppice::nccl {

inline constexpr int kMaxRanks = 1 << 16;

/// One rank of one communicator.
struct Instance {
  int process = 0;
  RankLine line;
  bool hasStart = false;
  bool isComplete = false;
  Facts facts = {};
  std::string group = {};
  int splits = 0;               ///< communicators made of it so far, where the log does not count them
  std::string_view maker = {};  ///< the thread that prints its rings and trees
};

struct Thread {
  int instance = -1;
  Facts pending;  ///< lines before the one that says of which communicator they are
  EstimateTable table;
};

struct Process {
  int index = 0;
  std::string_view host;
  int id = 0;
  std::map<std::pair<std::string_view, int>, Thread> threads = {};  ///< by thread id and device
  std::vector<int> instances = {};
};

/// The communicators, in the order in which the logs begin them. Ranks are joined by commId; those of splits without
/// one by parent, count and colour; else by the order in which processes make communicators. Lines of a process whose
/// line with the communicator is lost go to the communicator that lacks their rank, if there is one.
/// @param missing gets what is missing of no communicator alone. Throws Failure: limit (more than 65,536 ranks).
[[nodiscard]] std::vector<Communicator> gatherCommunicators(std::deque<Instance>& instances,
                                                            std::deque<Process>& processes,
                                                            std::vector<std::string>& missing);

}  // namespace coppice::nccl
