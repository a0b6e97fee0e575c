// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command.hpp"
#include "program/program.hpp"

/// MSCCL XML as `export` and `verify` look at it.
namespace coppice::cli {

/// Adds protocol, channels, chunks, the largest rank, and at which sizes that runtime uses the program.
void describeProgram(const program::Program& program, program::Runtime runtime, Report& report);

}  // namespace coppice::cli
