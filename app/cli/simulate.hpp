// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command.hpp"

namespace coppice::cli {

/// Adds the subcommand that plays schedules and programs on a fabric.
void addSimulate(CLI::App& app, Invocation& invocation);

}  // namespace coppice::cli
