// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "engine/backend.hpp"

/// Ends of runs that are the same in every backend.
namespace coppice::executor {

/// A run before its preparation.
[[nodiscard]] inline RunFailure unpreparedRun() {
  return {.error = {.message = "a run before its preparation"}};
}
/// A person or the launcher asked for it.
[[nodiscard]] inline RunFailure stoppedRun() {
  return {.exit = program::RunExit::cancelled,
          .error = {.code = ErrorCode::cancelled, .message = "the run was stopped"}};
}
/// Threadblocks wait for each other.
[[nodiscard]] inline RunFailure deadlockedRun(program::StuckRecord stuck) {
  RunFailure failure{.exit = program::RunExit::hang,
                     .error = {.code = ErrorCode::verification,
                               .message = stuck.text,
                               .fix = "the schedule itself has a cyclic wait; verify it"}};
  failure.stuck = std::move(stuck);
  return failure;
}

}  // namespace coppice::executor
