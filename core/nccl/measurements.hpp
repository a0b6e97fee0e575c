// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/duration.hpp"
#include "base/result.hpp"
#include "io/nccl_table.hpp"

/// What nccl-tests and NCCL's Inspector measured, where they write JSON.
namespace coppice::nccl {

/// nccl-tests wrote it with -J.
[[nodiscard]] bool isTestsJson(std::string_view text);
/// What nccl-tests writes with -J (version 3). Of several rows of one size the last counts. The environment, which may
/// hold secrets, is not read. Errors: badInput, limit.
[[nodiscard]] Result<io::NcclTable> readTestsJson(std::string_view text, const std::string& fileName);

/// Lines of NCCL's profiler plug-in Inspector.
[[nodiscard]] bool isInspector(std::string_view text);

/// A rank that came last to calls, and how long the others had waited for it in all.
struct LateRank {
  int rank = 0;
  int calls = 0;
  Microseconds lost{};
};

/// All calls of one collective and size that the Inspector saw in one communicator.
struct InspectedCalls {
  std::string communicator = {};
  std::string collective = {};
  int ranks = 0;
  std::int64_t bytes = 0;
  int calls = 0;
  Microseconds time{};    ///< median over the calls, each of which takes as long as its slowest rank
  Throughput algbw = {};  ///< at that time
  Throughput busbw = {};
  std::optional<int> slowestRank = {};  ///< that took longest most often; absent where one rank alone is seen
  /// Those that came last, by rank: all end together, so that a call takes a late rank clearly less time than others.
  std::vector<LateRank> late = {};
};

/// Records of any number of ranks, from their files put together. Lines that are cut, as at the end of a job that was
/// stopped, are left out. By communicator, collective, size. Errors: badInput (no record), limit.
[[nodiscard]] Result<std::vector<InspectedCalls>> readInspector(std::string_view text, const std::string& fileName);

}  // namespace coppice::nccl
