// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/collective_table.hpp"
#include "schedule/step_schedule.hpp"

/// A step schedule as a table of transfers, one a row, for scripts and spreadsheets. Fabric and collective are not in
/// it.
///
///     step,shard,begin,end,from,to,reduces,route
///     0,0,0,1/8,g0,g1,0,g0,sw,g1
///
/// The first row names the columns, of which rounds and route may be absent and the others may be in any order:
/// - step: from 0. Called `phase` instead, the schedule is asynchronous; `ordered_phase`: and keeps the order of the
///   rows between two GPUs.
/// - shard: from 0, as CollectiveTable counts them.
/// - begin, end: the piece as exact fractions of the shard, 0 to 1.
/// - from, to: ids of GPUs; or ranks, where no node has that id.
/// - reduces: 0 or 1.
/// - rounds: of the step (SCCL); the same in all rows of a step.
/// - route: the last column; it and all fields after it are the nodes of the route, from sender to receiver. Empty = a
///   shortest one.
/// Fields may be quoted as RFC 4180 says, within a line. Empty lines, and lines that begin with #, are ignored.
namespace coppice::io {

inline constexpr std::size_t kMaxTransferCsvBytes = std::size_t{1} << 30;
inline constexpr std::size_t kMaxCsvTransfers = 10'000'000;

/// The transfers as a schedule of this fabric and collective, sorted by steps, with routes; algbw is what its loads
/// give. Whether it is right is for verify::verifySteps to judge. Errors: badInput with line and column, limit,
/// overflow, cancelled; those of addRoutes and stepCost.
[[nodiscard]] Result<schedule::StepSchedule> readTransferCsv(std::string_view text, const std::string& fileName,
                                                             const fabric::Fabric& fabric,
                                                             const schedule::CollectiveTable& goal,
                                                             const Progress& progress = {});

/// Errors: io (the stream failed), limit (more than kMaxCsvTransfers), badUsage (ids with line ends), cancelled.
Outcome writeTransferCsv(std::ostream& out, const schedule::StepSchedule& schedule, const fabric::Fabric& fabric,
                         const Progress& progress = {});

}  // namespace coppice::io
