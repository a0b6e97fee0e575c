// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "program/program.hpp"

/// A small runtime for the lowering tests: real integers move through bounded FIFOs, threadblocks take turns at random.
/// Written from the description of the runtimes alone; shares nothing with core/lowering or core/verify.
namespace coppice::lowering::test {

struct RunOptions {
  int depth = 2;              ///< messages a connection holds
  int chunksPerMessage = 71;  ///< 1: every chunk of a step is a message of its own (large buffers)
  int iterations = 2;
  bool checkRaces = true;  ///< happens-before over all threadblocks; for small programs
  std::uint64_t seed = 1;
  int root = -1;
};

/// Runs the program. Empty = every rank ended with exactly what the collective demands, nothing raced and nothing was
/// left over; otherwise what went wrong.
std::string run(const program::Program& program, const RunOptions& options);

/// Empty = the program keeps every limit of the runtime (and 108 threadblocks per rank), on every rank.
std::string checkLimits(const program::Program& program, program::Runtime runtime);

}  // namespace coppice::lowering::test
