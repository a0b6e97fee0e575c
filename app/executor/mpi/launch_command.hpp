// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace coppice::executor {

/// A run that is to become one process per rank.
struct LaunchRequest {
  std::vector<std::string> words = {};  ///< the command line of this process, without the program
  int ranks = 0;                        ///< processes to start
  std::string backend = "mpi";
  bool sharesProcesses = false;  ///< a process runs several ranks, so its number is not theirs
  std::string launcher = {};     ///< "mpirun", "srun"; empty = mpirun where there is one, else srun
  std::string hosts = {};        ///< separated by commas, as node1:4 or node1; empty = this host, or what Slurm grants
  std::string partition = {};    ///< srun only
  double startSeconds = -1;      ///< for the ranks to start; 0 = no limit, negative = defaultStartSeconds
  bool json = false;             ///< records on standard output
  bool lifeline = false;         ///< the end of standard input ends the run; lines there are commands
};

/// The command that launchMpi runs, without starting anything. `program` starts coppice-exec on a host (hostProgram),
/// `cores` is how many this process may use. @pre shareRanks() is good
[[nodiscard]] std::vector<std::string> launchCommand(const LaunchRequest& request, const std::string& launcher,
                                                     bool isOpenMpi, const std::vector<std::string>& program,
                                                     int cores);

/// A host and how many ranks it takes.
struct HostShare {
  std::string host;
  int ranks = 0;
};
/// Reads "node1:4,node2": who has no number takes an even share of what is left. Errors: badUsage (not a host, not a
/// number, or room for too few).
Result<std::vector<HostShare>> shareRanks(const std::string& hosts, int ranks);

/// How a launcher starts coppice-exec on any host: its path or, where program and folder are below the home folder, a
/// shell that looks for both below the remote home folder, which may differ.
[[nodiscard]] std::vector<std::string> hostProgram(const std::string& program, const std::string& folder,
                                                   const std::string& home);

}  // namespace coppice::executor
