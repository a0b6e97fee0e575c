// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workflow/playable.hpp"

namespace coppice::workflow {

/// The schedules of a folder as writeGroups makes it, all at the same time on the whole fabric: that of the folder, or
/// the one that is named. Each group's data are its weight times the size. Errors: badUsage (no fabric), badInput (not
/// such a folder; a schedule in synchronous steps or in two halves), verification, io; those of simulate::joined.
[[nodiscard]] Result<Playable> loadPlayableGroups(const PlaySource& source, const Progress& progress);

}  // namespace coppice::workflow
