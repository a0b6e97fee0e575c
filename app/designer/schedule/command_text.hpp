// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QStringList>

#include "designer/schedule/front_search.hpp"
#include "designer/schedule/schedule_result.hpp"
#include "lowering/lowering.hpp"

/// What the dialogs do, as commands of coppice-cli.
namespace coppice::designer {

/// For a POSIX shell: as it is where it is plain, else in single quotes.
[[nodiscard]] QString shellQuoted(const QString& text);
/// "coppice-cli generate FABRIC …"; an empty fabric stands as "fabric.fabric.json".
[[nodiscard]] QString generateCommand(const QString& fabricPath, const ScheduleOptions& options,
                                      const QString& outputPath);
/// "coppice-cli synthesize FABRIC … --pareto", for a collective with a name.
[[nodiscard]] QString synthesizeCommand(const QString& fabricPath, const FrontRequest& request);
/// "coppice-cli export SCHEDULE …"
[[nodiscard]] QString exportCommand(const QString& schedulePath, const lowering::Options& options,
                                    const QString& outputPath);

}  // namespace coppice::designer
