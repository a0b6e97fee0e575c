// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"
#include "schedule/step_cost.hpp"
#include "schedule/step_schedule.hpp"

namespace coppice::designer {

/// What a schedule sends over one arc of its fabric.
struct ArcLoad {
  fabric::NodeIndex tail = 0;
  fabric::NodeIndex head = 0;
  Bandwidth bandwidth;  ///< parallel links together
  /// That cross it: in the reduce forest, in the broadcast forest; own copies count. Of a step schedule, transfers, in
  /// the first.
  std::array<std::int64_t, 2> trees{};
  /// GB/s while that forest runs at its algbw: trees / scale. Of a step schedule, the mean over its time, in the first.
  std::array<Bandwidth, 2> rates{};
  Bandwidth rate;          ///< the larger of both; their sum where both forests run at the same time
  bool isBusiest = false;  ///< no arc is used to a larger share
};

/// One entry for each arc of the fabric, in its order. Trees are read one by one, so that memory grows with the GPUs
/// and arcs alone. Throws OverflowError, CancelledError.
/// @pre the schedule has passed the verifier on this fabric
[[nodiscard]] std::vector<ArcLoad> arcLoads(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                            const Progress& progress = {});

/// The same of a step schedule, by its exact cost.
[[nodiscard]] std::vector<ArcLoad> arcLoads(const fabric::Fabric& fabric, const schedule::StepSchedule& schedule,
                                            const schedule::StepCost& cost);
/// The loads while one step, or one phase, runs: GB/s over the time of that step. Throws OverflowError.
[[nodiscard]] std::vector<ArcLoad> arcLoadsInStep(const fabric::Fabric& fabric, const schedule::StepSchedule& schedule,
                                                  const schedule::StepCost& cost, std::int32_t step);

}  // namespace coppice::designer
