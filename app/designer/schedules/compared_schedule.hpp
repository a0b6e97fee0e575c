// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <memory>

#include "designer/schedules/prediction.hpp"
#include "designer/schedules/schedule_result.hpp"

namespace coppice::designer {

class Playback;

/// A schedule that takes part in a comparison; a program, which stands for one (ScheduleResult::program); or a run of
/// one, with the times that were measured.
struct ComparedSchedule {
  int id = 0;  ///< of its book; negative: it is in no book
  QString name;
  ScheduleResultPtr result;
  PredictionPtr measured = {};                    ///< instead of a simulation
  std::shared_ptr<const Playback> recorded = {};  ///< of a run: its trace; nullptr = it has none

  [[nodiscard]] bool isRun() const { return measured != nullptr; }
  /// It can be exported, and be the current one.
  [[nodiscard]] bool isOfBook() const { return id > 0; }

  friend bool operator==(const ComparedSchedule&, const ComparedSchedule&) = default;
};

}  // namespace coppice::designer
