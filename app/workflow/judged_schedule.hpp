// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/step_cost.hpp"
#include "schedule/step_schedule.hpp"

/// Schedules of every kind: made, judged and measured exactly.
namespace coppice::workflow {

/// A schedule of any kind with what the verifier and the exact costs say of it.
struct JudgedSchedule {
  schedule::AnySchedule schedule;
  bool ok = false;
  std::vector<Finding> findings;
  Rational algbw;        ///< GB/s, recomputed
  Rational timePerByte;  ///< t_b, 1/(GB/s)
  std::int64_t steps = 0;
  int maxStretch = 0;  ///< links per transfer
  double meanStretch = 0;
  Rational totalTraffic;  ///< bytes over all links per byte of M
};

/// Verifies and measures. Of a forest, steps is the height of its trees (both halves in turn for allreduce).
/// Errors: those of the verifiers and of stepCost.
[[nodiscard]] Result<JudgedSchedule> judge(const fabric::Fabric& fabric, schedule::AnySchedule schedule,
                                           const Progress& progress);

/// A baseline by name, verified. Errors: as baselines::generate, and verification if the verifier refuses it.
[[nodiscard]] Result<JudgedSchedule> makeBaseline(std::string_view name, const fabric::Fabric& fabric,
                                                  Collective collective, std::optional<fabric::Rank> root,
                                                  const Progress& progress);

}  // namespace coppice::workflow
