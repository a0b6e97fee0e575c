// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command.hpp"
#include "fabric/fabric.hpp"
#include "workflow/baseline.hpp"

namespace coppice::cli {

/// The exact figures of a schedule of any kind: collective, algbw, busbw, t_b, steps, stretch, traffic.
void describeJudged(const fabric::Fabric& fabric, const workflow::JudgedSchedule& judged, Report& report);

}  // namespace coppice::cli
