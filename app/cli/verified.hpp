// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"
#include "verify/schedule_verifier.hpp"

/// Nothing leaves the program unverified: generate and export check what they made before they write.
namespace coppice::cli {

/// The verifier's verdict on a schedule of our own making. Every bound is proved: by the trees that reach its cut, or,
/// where they do not, or for up to 256 GPUs, by max flow. Errors: verification with the first fault, overflow,
/// cancelled.
[[nodiscard]] Result<verify::ScheduleVerdict> requireVerified(const fabric::Fabric& fabric,
                                                              const schedule::Schedule& schedule,
                                                              const Progress& progress);

/// Whether the bound needs max flow to be proved, or cheaply may have it: the trees of a schedule that claims to reach
/// its cut prove both if they do.
[[nodiscard]] bool needsMaxFlow(const fabric::Fabric& fabric, const schedule::Schedule& schedule);

/// The first finding of severity error, or the first of all; nullptr for none.
[[nodiscard]] const Finding* firstFault(const std::vector<Finding>& findings);

}  // namespace coppice::cli
