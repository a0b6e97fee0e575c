// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "program/run_job.hpp"
#include "remote/session.hpp"

namespace coppice::remote {

/// A machine that a run is on.
struct Seat {
  std::shared_ptr<const Session> session;
  int ranks = 0;  ///< 0 = an even share
};

/// A run as it goes to its machines.
struct RunOrder {
  std::string run = {};  ///< isPlainName
  std::filesystem::path schedule = {};
  std::string scheduleName = {};     ///< there
  std::filesystem::path goal = {};   ///< the table of a custom collective; request.goal is its name there
  program::RunRequest request = {};  ///< several machines: launch and hosts are filled in
  std::map<std::string, std::string> environment = {};
  bool endsWithStarter = true;
  std::int64_t limitSeconds = 0;
  std::filesystem::path jobFile = {};  ///< job.json, written here before it is sent
};

/// Two seats are one machine, or their MPI differs. An empty message = they can run together.
[[nodiscard]] Error seatFault(const Seat& first, const Seat& other);

/// Makes the folder of the run on all machines, sends the schedule and its table to each and the job to the first. Over several
/// machines it also finds out how mpirun on the first reaches the others. Where something fails, the folders go again.
Outcome sendRun(const std::vector<Seat>& seats, RunOrder order, const std::stop_token& stop);

/// Removes the folder of a run everywhere. Failures are ignored.
void dropRun(const std::vector<Seat>& seats, const std::string& run);

}  // namespace coppice::remote
