// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include "designer/schedules/schedule_result.hpp"

namespace coppice::designer {

/// For a POSIX shell: as it is where it is plain, else in single quotes.
[[nodiscard]] QString shellQuoted(const QString& text);
/// "coppice-cli generate FABRIC …"; an empty fabric stands as "fabric.fabric.json".
[[nodiscard]] QString generateCommand(const QString& fabricPath, const ScheduleOptions& options,
                                      const QString& outputPath);

}  // namespace coppice::designer
