// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/step_figures.hpp"
#include "schedule/step_schedule.hpp"
#include "verify/demand.hpp"

namespace coppice::verify {

/// The arcs of each route.
struct RouteArcs {
  std::vector<std::int32_t> arcs;
  std::vector<std::int64_t> first{0};  ///< by route, into arcs; one more at the end

  [[nodiscard]] std::span<const std::int32_t> of(schedule::PathId route) const {
    return std::span(arcs).subspan(first[route], first[route + 1] - first[route]);
  }
};

/// What the links carry, step by step, and the throughput that follows.
/// @param depth of an asynchronous schedule: StepOrder::depth
/// Errors: infeasible (nothing is sent). Throws OverflowError, CancelledError. @pre transfers and routes are sound
[[nodiscard]] Result<schedule::StepCost> addUpLoads(const fabric::Fabric& fabric,
                                                    const schedule::StepSchedule& schedule, const Demand& demand,
                                                    const RouteArcs& routes, std::int32_t depth,
                                                    const Progress& progress);

}  // namespace coppice::verify
