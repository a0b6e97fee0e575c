// SPDX-License-Identifier: Apache-2.0
#include "mpi/world_failures.hpp"

#include <cmath>
#include <string>
#include <utility>

namespace coppice::executor {

RunFailure brokenRun(const MpiWorld& world, const Error& error) {
  return {.exit = world.brokenBy().value_or(program::RunExit::rankLost), .error = error};
}

RunFailure abandonedRun(MpiWorld& world, Verdict verdict, int culprit, double stallSeconds,
                        std::optional<program::StuckRecord> stuck) {
  const bool isLost = verdict == Verdict::lost;
  std::string who;
  if (culprit >= 0) {
    const int seat = world.seatOf(culprit);
    const char state = isLost ? 'Z' : seat >= 0 ? processState(world.host().seat(seat).pid.load()) : '?';
    who = world.describe(culprit, state);
  }
  RunFailure failure{
      .exit = isLost ? program::RunExit::rankLost : program::RunExit::hang,
      .error = {
          .code = isLost ? ErrorCode::io : ErrorCode::unavailable,
          .message = who.empty() ? "nothing has moved for " + std::to_string(std::lround(stallSeconds)) + " s" : who,
          .fix = isLost ? "see what ended it" : "look at that process and its host"}};
  if (!isLost && stuck) {
    if (!who.empty()) {
      stuck->text = stuck->text.empty() ? who : who + "; " + stuck->text;
    }
    failure.stuck = std::move(stuck);
  }
  world.giveUp(failure.exit, failure.stuck ? failure.stuck->text : failure.error.message, !isLost && culprit == 0);
  return failure;
}

}  // namespace coppice::executor
