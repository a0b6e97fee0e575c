// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective.hpp"
#include "base/result.hpp"
#include "designer/jobs/snapshot.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "workflow/schedule_file.hpp"

namespace coppice::designer {

using workflow::scheduleFileKind;
using workflow::ScheduleFileKind;

/// Reads no more than the first words. `none` where the file cannot be read.
[[nodiscard]] ScheduleFileKind scheduleFileKindOf(const QString& path);

/// What became of a file with a schedule in it.
struct OpenedSchedule {
  ScheduleFileKind kind = ScheduleFileKind::none;
  QString path;
  std::optional<Error> error;  ///< with the place
  ScheduleResultPtr result;    ///< forest, steps, trees: verified
  bool isInferred = false;     ///< trees: no open fabric fits, so one was made that carries exactly these trees
  std::string xml;             ///< program
};

/// Reads and verifies. Trees are tried on the open fabric (facts may be null) for the collective that the file or
/// else `collective` names. Meant for another thread.
[[nodiscard]] OpenedSchedule openSchedule(const QString& path, ScheduleFileKind kind,
                                          const std::shared_ptr<const fabric::Description>& facts,
                                          Collective collective, const Progress& progress);

}  // namespace coppice::designer
