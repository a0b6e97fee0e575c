// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command.hpp"
#include "program/program.hpp"
#include "verify/program_study.hpp"

/// MSCCL XML as `export` and `verify` look at it.
namespace coppice::cli {

/// Adds protocol, channels, chunks, the largest rank, and at which sizes that runtime uses the program.
void describeProgram(const program::Program& program, program::Runtime runtime, Report& report);
/// Adds the ring of a deadlock, what would free it, and the step where a result first goes wrong, as far as there are.
void describeStudy(const program::Program& program, const verify::ProgramStudy& study, Report& report);

}  // namespace coppice::cli
