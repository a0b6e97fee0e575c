// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/description.hpp"
#include "fabric/fabric.hpp"
#include "io/origin.hpp"
#include "schedule/step_schedule.hpp"

/// The `.schedule.json` format: one step schedule and, so that it stands alone, the fabric it was made for.
///
///     {"format": "coppice-schedule", "version": 1, "collective": "alltoall", "root": 0, "amounts": [1, 2],
///      "shards": [{"share": "1/2", "sources": [0], "destinations": [1, 2], "combines": false}],
///      "method": "pairwise", "made_by": {...}, "fabric_name": "...", "digest": "...", "algbw": "640/3",
///      "denominator": 8,         of the pieces
///      "synchronous": true, "ordered": false, "steps": 15, "rounds": [1, 2],
///      "nodes": ["g0", ...],     ids; routes count in this table
///      "routes": [[0, 8, 1], ...],
///      "transfers": [[step, shard, begin, end, from, to, route, reduces], ...],
///      "fabric": {a whole .fabric.json}}
///
/// from and to are ranks; route -1 is none; reduces is 0 or 1. shards are there for custom collectives alone; root,
/// amounts, rounds and made_by (origin.hpp) where the schedule has them. In an asynchronous schedule steps are phases.
namespace coppice::io {

/// Reading this many takes about 2 GB: the text, and 37 bytes for each transfer twice while the list grows.
inline constexpr std::size_t kMaxScheduleTransfers = 10'000'000;
inline constexpr std::size_t kMaxScheduleBytes = std::size_t{1} << 30;

/// Equal schedules on equal fabrics give equal bytes. `description` is what to embed; without one, the fabric's facts.
/// Errors: io (the stream failed), limit (more than kMaxScheduleTransfers transfers), badUsage (the description is of
/// another fabric), cancelled.
Outcome writeScheduleJson(std::ostream& out, const schedule::StepSchedule& schedule, const fabric::Fabric& fabric,
                          const fabric::Description* description = nullptr, const Progress& progress = {},
                          const Origin& origin = {});

/// By its first words; what is in it may still be wrong.
[[nodiscard]] bool isScheduleJson(std::string_view text);

struct LoadedSchedule {
  fabric::Description description;
  fabric::Fabric fabric;
  schedule::StepSchedule schedule;
  std::int64_t routesAdded = 0;  ///< transfers that the file gives no route; they have shortest ones
  Origin origin = {};            ///< without a method where the file has no made_by
};

/// The schedule and its embedded fabric, with shortest routes where the file gives none. Numbers are there, exact and
/// within 64 bits afterwards; whether they make a schedule is for verify::verifySteps to judge. Errors: badInput with
/// line and column and element, invalidFabric, verification (the digest is that of another fabric), infeasible (only
/// other GPUs join two GPUs, and no route is given), limit.
Result<LoadedSchedule> loadSchedule(std::string_view text, const std::string& fileName = {});

}  // namespace coppice::io
