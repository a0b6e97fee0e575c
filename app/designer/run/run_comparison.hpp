// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "designer/playback/playback.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "workflow/measured_run.hpp"

namespace coppice::designer {

/// A recorded run, or a table of results, for the list of the dock.
struct RecordedRun {
  QString id;        ///< empty = a file or a text that was given
  QString title;     ///< for a person
  QString records;   ///< its file; empty = `text` holds it
  QString schedule;  ///< the file that was run; empty = the schedule that is shown
  std::string text = {};

  friend bool operator==(const RecordedRun&, const RecordedRun&) = default;
};

/// A run beside the prediction of the schedule. Immutable.
struct RunComparison {
  ScheduleResultPtr result;
  RecordedRun source;
  std::shared_ptr<const workflow::MeasuredRun> run;     ///< nullptr: it could not be read
  std::shared_ptr<const schedule::AnySchedule> played;  ///< that was run; nullptr = that of the result
  std::vector<simulate::Row> predicted;                 ///< at the sizes of the run
  std::size_t trace = 0;                                ///< into MeasuredRun::traces
  PlaybackPtr planned;                                  ///< nullptr: there is no trace, or it cannot be compared
  PlaybackPtr measured;
  simulate::Comparison parts;
  QString problem;  ///< why something is missing; empty where all is there

  [[nodiscard]] const workflow::MeasuredTrace* shownTrace() const {
    return run && trace < run->traces.size() ? &run->traces[trace] : nullptr;
  }
};
using RunComparisonPtr = std::shared_ptr<const RunComparison>;

/// Reads the run, simulates its sizes and compares one of its traces. Meant for another thread. What `before` read and
/// simulated of the same run and schedule is taken from there. @param trace absent: the one of the largest size
[[nodiscard]] RunComparisonPtr compareRun(const ScheduleResultPtr& result, const RecordedRun& source,
                                          std::optional<std::size_t> trace, const RunComparisonPtr& before,
                                          const Progress& progress);

}  // namespace coppice::designer
