// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "io/origin.hpp"
#include "schedule/step_schedule.hpp"
#include "workflow/fabric_source.hpp"
#include "workflow/request.hpp"

/// Schedules from one file format to another.
namespace coppice::workflow {

/// A file to read as a step schedule.
struct ConvertSource {
  std::string file;          ///< `.forest.json`, `.schedule.json`, a table of transfers, or a result of TE-CCL or TACOS
  FabricSource fabric = {};  ///< of a table of transfers
  DemandText demand = {};    ///< of a table of transfers
  std::string goal = {};     ///< of a table of transfers: its table of shards; empty = by the collective
  std::optional<std::int64_t> pieces = {};  ///< of each tree of a forest, or transfer without steps; absent = 1
  StandardInput standardInput = {};
};

struct ConvertedSchedule {
  LoadedFabric loaded;
  schedule::StepSchedule schedule;  ///< verified
  std::string from;                 ///< "forest", "schedule", "csv", "te-ccl", "tacos"
  io::Origin origin = {};           ///< as the file says it
};

/// Reads and verifies it. Errors: badUsage (a table without its fabric or collective, or with what only a forest has),
/// badInput, verification, limit, io, cancelled. The goal of other files is not read.
[[nodiscard]] Result<ConvertedSchedule> readForConversion(const ConvertSource& source, const Progress& progress);

}  // namespace coppice::workflow
