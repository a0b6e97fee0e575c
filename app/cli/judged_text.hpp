// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "command.hpp"
#include "fabric/fabric.hpp"
#include "io/origin.hpp"
#include "workflow/fabric_source.hpp"
#include "workflow/judged_schedule.hpp"

namespace coppice::cli {

/// How many different trees there are, and how fast they are together.
void describeTrees(const schedule::Schedule& schedule, Report& report);

/// How the file of a schedule says that it was made; nothing where it does not.
void describeOrigin(const io::Origin& origin, Report& report);

/// Writes a schedule of any kind where -o says: .forest.json or .schedule.json. Steps whose file is named .forest.json
/// are written as the trees that their pieces travel on, so are all with `asTrees`. Errors: as deliver(), the writers
/// and workflow::treesOf.
[[nodiscard]] Outcome deliverSchedule(const std::string& output, const schedule::AnySchedule& schedule,
                                      const workflow::LoadedFabric& loaded, const io::Origin& origin, bool json,
                                      const Progress& progress, Report& report, bool asTrees = false);

}  // namespace coppice::cli
