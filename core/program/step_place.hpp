// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>

#include "program/program.hpp"

/// Names of steps and of what they wait for, for any program, also for one that no runtime would take.
namespace coppice::program {

/// One step. Not necessarily of an existing program.
struct StepPlace {
  int rank = 0;
  int threadBlock = 0;
  int step = 0;

  friend auto operator<=>(const StepPlace&, const StepPlace&) = default;
};
/// "rank 3, threadblock 2, step 14".
[[nodiscard]] std::string placeText(const StepPlace& place);
[[nodiscard]] bool exists(const Program& program, const StepPlace& place);
/// "rrcs from rank 1 to rank 5". @pre the step exists
[[nodiscard]] std::string operationText(const Program& program, const StepPlace& place);
/// "i[4]", "i[4-7]"; empty for an offset that is not used.
[[nodiscard]] std::string slotText(const Slot& slot, int count);

enum class WaitReason {
  order,  ///< the step before it in its threadblock
  flag,   ///< its dependency: the first step at or after it that publishes
  data,   ///< the step that sends what it receives
  space   ///< the step that takes an older message out of the full connection
};

struct StepLink {
  StepPlace place;
  WaitReason reason = WaitReason::order;

  friend bool operator==(const StepLink&, const StepLink&) = default;
};

}  // namespace coppice::program
