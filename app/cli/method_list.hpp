// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "command.hpp"
#include "workflow/compare.hpp"

/// Schedules of several methods at once.
namespace coppice::cli {

struct MethodListOptions {
  std::string names = {};  ///< "all", or ids between commas
  std::string collective = "allgather";
  std::string root = {};
  std::string gpus = {};
  double timeLimit = 60;  ///< seconds for each method
  double totalTime = 0;   ///< seconds for all of them; 0 = no limit
};

/// --method, -c, --root, --gpus, --time-limit and --total-time.
void addMethodListOptions(CLI::App& sub, MethodListOptions& options);

/// Loads the fabric and makes a schedule by each method, simulated with what the profile measured (empty: none). Errors:
/// those of loadFabric, workflow::withProfile and contendersOfMethods; badUsage.
[[nodiscard]] Result<workflow::MethodContenders> makeByMethods(const std::string& fabric,
                                                               const MethodListOptions& options,
                                                               const workflow::PlayOptions& play,
                                                               const std::string& profile,
                                                               const Progress& progress);

/// Where no method generated a schedule: the reason of the only one, or infeasible with all of them.
[[nodiscard]] Error noneMade(const std::vector<workflow::Refused>& refused);

}  // namespace coppice::cli
