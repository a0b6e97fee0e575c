// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "bfb/schedule.hpp"
#include "workflow/claims.hpp"
#include "workflow/facts.hpp"
#include "workflow/make_schedule.hpp"

/// What BFB states of its schedules, for the judge and for the reader.
namespace coppice::workflow {

/// Why no step can be shorter, and what the steps of a rule take.
[[nodiscard]] Claims bfbClaims(const fabric::Fabric& fabric, const bfb::Generated& made);

/// The exact costs: T_B, loads step by step, chunks, routes. Loads are those that the judge has counted.
/// @param made its transfers and trees are not needed
/// @param transfers their number
/// @param bytes the schedule is planned with the latencies of links for this size
[[nodiscard]] Facts bfbFacts(const LoadedFabric& loaded, const Judged& judged, const bfb::Generated& made,
                             std::int64_t transfers, std::optional<std::int64_t> bytes);

}  // namespace coppice::workflow
