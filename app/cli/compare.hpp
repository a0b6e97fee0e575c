// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command.hpp"

namespace coppice::cli {

/// Adds the subcommand that holds schedules against each other.
void addCompare(CLI::App& app, Invocation& invocation);
/// Adds the subcommand that finds the best schedule for each band of sizes.
void addBest(CLI::App& app, Invocation& invocation);

}  // namespace coppice::cli
