// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program/step_place.hpp"

namespace coppice::verify {

/// One threadblock of a ring of waits.
struct RingStep {
  program::StepPlace place = {};  ///< where it stands
  program::WaitReason reason = program::WaitReason::flag;
  program::StepPlace needs = {};  ///< what would let it continue: a step of the next threadblock of the ring
};

}  // namespace coppice::verify
