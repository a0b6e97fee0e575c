// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/interpreter.hpp"
#include "engine/script.hpp"
#include "plan/plan.hpp"
#include "program/run_protocol.hpp"

namespace coppice::executor {

/// Where a threadblock is and what it lacks.
struct Position {
  Wait wait = Wait::done;
  std::int64_t tile = 0;
  std::int32_t op = 0;
};

/// Which threadblock waits for which. The text names the ring of threadblocks that wait for each other, or else the
/// first that waits.
/// @param positions by block; blocks with Wait::none or done do not wait
[[nodiscard]] program::StuckRecord explainStuck(const Plan& plan, const Script& script,
                                                const std::vector<Position>& positions, bool isDeadlock);

}  // namespace coppice::executor
