// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/collective_table.hpp"
#include "synth/sccl.hpp"
#include "workflow/method.hpp"

namespace coppice::workflow {

/// Step-synchronous synthesis: the lowest R/C for each number of steps, as far as the time allows.
[[nodiscard]] Method scclMethod();

/// What the method claims of its schedules. @param unit GB/s that move one chunk in a round
[[nodiscard]] Claims roundsOf(const Bandwidth& unit, bool isOneBandwidth);
/// Size and ratio of a point of the front, and how near it is to its bound. @param extraRounds see synth::FrontLimits
[[nodiscard]] std::vector<Fact> pointFacts(const synth::StatedPoint& point, std::optional<std::int64_t> extraRounds);

/// The same for a collective that a table gives. Errors: badUsage (a table for another number of GPUs), those of
/// scclMethod().
[[nodiscard]] Result<Made> makeForTable(const fabric::Fabric& fabric, const schedule::CollectiveTable& table,
                                        const Values& options, const Progress& progress);

}  // namespace coppice::workflow
