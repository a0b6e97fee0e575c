// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective.hpp"

/// Which collective a table of nccl-tests is of.
namespace coppice::io {

/// The collective of the program that a text names: allgather for "./build/all_gather_perf -g 8".
[[nodiscard]] std::optional<Collective> collectiveOfProgram(std::string_view text);

/// What one row says of its collective.
struct RowEvidence {
  std::int64_t size = 0;   ///< bytes
  std::int64_t count = 0;  ///< elements: of one rank's shard, where there are shards
  std::string type = {};
  std::string redop = {};   ///< "sum", "none"; empty = no word stands there
  bool lacksRedop = false;  ///< the head has no such column
  std::optional<int> root = {};
  double algbw = 0;  ///< as printed, with two places
  double busbw = 0;
  bool isChecked = false;
  bool isCheckedInPlace = false;
};

/// The collectives that fit the columns of a row, its count and its bandwidths. Where no count fits, as in tables of
/// other tools, without it. @param ranks 0 = not known
[[nodiscard]] std::vector<std::string> fittingCollectives(const RowEvidence& row, int ranks);

}  // namespace coppice::io
