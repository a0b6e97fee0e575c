// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "simulate/sweep.hpp"

namespace coppice::designer {

/// Simulated times of a schedule by size.
struct Prediction {
  std::vector<simulate::Row> rows;  ///< ascending by size; those that were reached
  QString problem;                  ///< why there are no more; empty where all are there, or still come
  QString sample;                   ///< "simulated with the trees of 256 of 4096 GPUs"; empty where with all

  /// nullptr: not known.
  [[nodiscard]] const simulate::Row* at(std::int64_t size) const;
  /// No more rows come.
  [[nodiscard]] bool isComplete() const;
};
using PredictionPtr = std::shared_ptr<const Prediction>;

/// Messages of a schedule that are simulated for a comparison: about 200 MB, all trees of 1,024 GPUs. Of larger ones
/// some roots stand for all.
inline constexpr std::int64_t kMaxComparedMessages = std::int64_t{1} << 20;

/// What is simulated of a schedule, or of the program that stands for one. The result must outlive it.
[[nodiscard]] Result<std::unique_ptr<simulate::Subject>> subjectOf(
    const ScheduleResult& result, const Progress& progress, std::int64_t maxMessages = simulate::kNoMessageLimit);

/// The sizes that schedules are compared at: powers of two from 1 KiB to 1 GiB.
[[nodiscard]] const std::vector<std::int64_t>& comparedSizes();

/// "simulated with the trees of 256 of 4096 GPUs, …" where no more messages are simulated; empty where all are.
[[nodiscard]] QString sampleText(const ScheduleResult& result, std::int64_t maxMessages);

/// Simulates a schedule size by size, with the latencies of SimulationSettings and the best number of pieces known.
/// Used by one thread at a time, and meant for others than the window's.
class Predictor {
public:
  explicit Predictor(ScheduleResultPtr result) : m_result(std::move(result)) {}

  [[nodiscard]] const ScheduleResultPtr& result() const { return m_result; }
  /// Adds that size to what `before` (or nullptr) knows. Errors become its problem; a stop leaves it as it was.
  [[nodiscard]] PredictionPtr at(std::int64_t size, const PredictionPtr& before, const Progress& progress);

private:
  ScheduleResultPtr m_result;
  std::unique_ptr<simulate::Subject> m_subject;  ///< null before the first size
};

/// Of all comparedSizes(). A stop leaves what was reached.
[[nodiscard]] PredictionPtr predict(const ScheduleResultPtr& result, const Progress& progress);

}  // namespace coppice::designer
