// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/progress.hpp"
#include "program/finding_sink.hpp"
#include "verify/program_data.hpp"
#include "verify/program_flat.hpp"

/// Two accesses of different threadblocks to the same chunk of one rank's memory, at least one a write, race unless one
/// happens before the other: by program order, by a dependency, or by messages, also through other ranks. Waiting for
/// space in a connection orders nothing. Exact, nothing is sampled:
///  1. Per rank, vector clocks over its own threadblocks from program order, dependencies and echoes (RankHistory)
///     prove nearly all pairs ordered. Up to the first race of an execution all data flow is ordered, so that an echo
///     is a proof there, and the first race cannot hide.
///  2. What is left is asked of the whole graph: executions that carry, for up to 32 suspected threadblocks at a time,
///     how much of each every step knows.
namespace coppice::verify {

/// Reports races. @param history of a finished execution with the same layout, depth and chunksPerMessage
void checkRaces(const program::Program& program, const FlatProgram& flat, const Layout& layout,
                const std::vector<RankHistory>& history, std::uint32_t depth, int chunksPerMessage,
                const Progress& progress, program::FindingSink& sink);

}  // namespace coppice::verify
