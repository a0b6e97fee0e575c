// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/step_cost.hpp"
#include "schedule/step_schedule.hpp"
#include "workflow/make_schedule.hpp"

/// Schedules of every kind: judged and measured exactly.
namespace coppice::workflow {

/// The exact costs of a schedule of any kind.
struct Figures {
  Bandwidth algbw;         ///< recomputed
  std::int64_t steps = 0;  ///< of a forest, the height of its trees (both halves in turn for allreduce)
  /// Of a forest, that of its transfers; absent where switches copy or sum up, and where they are too many.
  std::optional<schedule::StepCost> cost;
  /// Beside cost->totalTraffic: the minimum for this collective (schedule::minTraffic).
  std::optional<Rational> minTraffic;
};

/// A schedule of any kind that has passed the judge, with its costs.
struct JudgedSchedule : Figures {
  schedule::AnySchedule schedule;
};

/// A link and what it carries.
struct BusyLink {
  int arc = 0;            ///< into Fabric::arcs()
  Rational traffic;       ///< bytes per byte of the collective
  InverseBandwidth time;  ///< traffic / bandwidth: time per byte of the collective, 1/(GB/s)
};
/// Those that are busy for the longest time, at most `count`, in descending order; the first in the fabric wins ties.
[[nodiscard]] std::vector<BusyLink> busiestLinks(const fabric::Fabric& fabric, const schedule::StepCost& cost,
                                                 std::size_t count);

/// Measures what has passed the judge. Errors: those of stepCost.
[[nodiscard]] Result<Figures> figuresOf(const fabric::Fabric& fabric, const Judged& judged, const Progress& progress);
[[nodiscard]] Result<JudgedSchedule> measured(const fabric::Fabric& fabric, Judged judged, const Progress& progress);

}  // namespace coppice::workflow
