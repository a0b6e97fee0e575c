// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "mpi/launch_command.hpp"

namespace coppice::executor {

/// Starts this program again, once for each rank, with `--launched` and without what is for the launcher alone, and
/// stays in front of it: passes on what process 0 writes, hears signals and standard input, and, where the ranks end
/// without a word, says what became of them (a rank that died is named). Ranks end when this process does, however that
/// happens. Call it before any thread is made. Blocks SIGINT, SIGTERM and SIGHUP.
/// @return the exit code (program::RunExit)
int launchMpi(const LaunchRequest& request);

/// How long the ranks may take to start before the launcher is judged (StartWatch): 8 s on this host, 60 s where other
/// hosts, Slurm or GPUs take part.
[[nodiscard]] double defaultStartSeconds(const LaunchRequest& request, const std::string& launcher);

}  // namespace coppice::executor
