// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "simulate/sweep.hpp"

namespace coppice::designer {

/// Simulated times of a schedule by size.
struct Prediction {
  std::vector<simulate::Row> rows;  ///< ascending by size; those that were reached
  QString problem;                  ///< why there are no more; empty where all are there

  /// nullptr: not known.
  [[nodiscard]] const simulate::Row* at(std::int64_t size) const;
};
using PredictionPtr = std::shared_ptr<const Prediction>;

/// What is simulated of a schedule, or of the program that stands for one. The result must outlive it.
[[nodiscard]] Result<std::unique_ptr<simulate::Subject>> subjectOf(const ScheduleResult& result);

/// The sizes that schedules are compared at: powers of two from 1 KiB to 1 GiB.
[[nodiscard]] const std::vector<std::int64_t>& comparedSizes();

/// Simulates with the latencies of SimulationSettings and the best number of pieces known. Meant for another thread; a
/// stop leaves what was reached.
[[nodiscard]] PredictionPtr predict(const ScheduleResult& result, const Progress& progress);

}  // namespace coppice::designer
