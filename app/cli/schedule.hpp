// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command.hpp"

namespace coppice::cli {

/// Adds the subcommands for files of schedules.
void addSchedule(CLI::App& app, Invocation& invocation);

}  // namespace coppice::cli
