// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "verify/deadlock_ring.hpp"
#include "verify/program_execution.hpp"
#include "verify/program_flat.hpp"

namespace coppice::verify {

/// Why a stopped execution cannot continue.
struct Deadlock {
  std::string cycle;           ///< the threadblocks that wait for each other in a ring, each with its step
  std::string remedy;          ///< the connection depth that would free it, or that none does
  ElementRef place;            ///< the first step of the cycle
  std::vector<RingStep> ring;  ///< each waits for the next, the last for the first
};

/// Explains a deadlock. @param states where each threadblock stopped, with at least one obstacle among them
Deadlock explainDeadlock(const program::Program& program, const FlatProgram& flat,
                         const std::vector<BlockState>& states, std::uint32_t depth, int chunksPerMessage,
                         const Progress& progress);

/// The largest maxBytes below the program's own at which it does not stop: messages then hold several chunks of a step,
/// with the runtime's default buffers. nullopt: there is none above minBytes.
/// @pre the program stops at its own window
std::optional<std::int64_t> windowThatFrees(const program::Program& program, const FlatProgram& flat,
                                            program::Runtime runtime, const Progress& progress);

}  // namespace coppice::verify
