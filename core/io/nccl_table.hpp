// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/duration.hpp"
#include "base/result.hpp"
#include "base/throughput.hpp"

/// The tables that the programs of nccl-tests print, as all_gather_perf does.
namespace coppice::io {

/// One half of a row: out of place, or in place.
struct NcclTime {
  Microseconds time{};
  Throughput algbw = {};
  Throughput busbw = {};
  std::optional<std::int64_t> wrong = {};  ///< wrong elements; absent = not checked
};

struct NcclRow {
  std::int64_t size = 0;  ///< bytes
  int line = 0;           ///< 1-based
  std::optional<NcclTime> outOfPlace = {};
  std::optional<NcclTime> inPlace = {};
};

struct NcclTable {
  std::string collective = {};  ///< "allgather": as the text says, else the only one that fits; empty = not clear
  std::vector<std::string> fits = {};  ///< the collectives that fit the columns; empty = none, or there are no columns
  int ranks = 0;                       ///< 0 = the text does not say
  bool isSimulated = false;            ///< `coppice-cli simulate --nccl-tests` wrote it
  int line = 0;                        ///< where the run begins; 0 = not in a text
  std::vector<NcclRow> rows = {};      ///< ascending by size, one for each; never empty
};

/// Reads the tables out of what was printed, one for each run: a line "# nThread", one that names the columns, or a
/// command such as "./all_gather_perf -g 8" begins another. Lines that begin with '#' are comments, of which the one
/// that names the columns says where the times are; without it the columns of nccl-tests are assumed. What launchers
/// put before lines is learned from what stands before these comments. Lines that do not begin with a number (those of
/// NCCL, mpirun or a shell) are ignored. Of several rows of one size in a run the last counts. The answer is never
/// empty. Errors: badInput with the line (a row with a column missing or not a number; no row at all), limit.
[[nodiscard]] Result<std::vector<NcclTable>> readNcclTables(std::string_view text, const std::string& fileName);

}  // namespace coppice::io
