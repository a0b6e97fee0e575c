// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "program/step_place.hpp"
#include "verify/deadlock_ring.hpp"
#include "verify/program_verifier.hpp"
#include "verify/step_links.hpp"

namespace coppice::verify {

/// One small change to a program, and what it gives.
struct ProgramChange {
  std::string text;       ///< "move step 5 (s to rank 2) of rank 0, threadblock 1 before step 3"
  program::StepPlace at;  ///< the step that it is about, before the change
  program::Program after;
};

/// Looks for the smallest change that frees a deadlock and brings no other fault: a wait that is dropped, then a step
/// of the ring that moves within its threadblock, or one in each threadblock of the ring (short ways first), or changes
/// places with another there, or the same in all threadblocks with the same steps; then a
/// threadblock whose receiving steps go to one of their own, then a message that gets a connection of its own, at last
/// a smaller size window. Every candidate is executed, and verified in full before it is named. nullopt: none of them
/// will do.
/// @pre ring is that of the program. Throws CancelledError; other faults of a candidate rule it out.
[[nodiscard]] std::optional<ProgramChange> changeThatFrees(const program::Program& program,
                                                           const std::vector<RingStep>& ring,
                                                           const ProgramCheckOptions& options,
                                                           const Progress& progress = {});

}  // namespace coppice::verify
