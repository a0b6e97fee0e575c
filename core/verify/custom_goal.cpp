// SPDX-License-Identifier: Apache-2.0
#include "verify/custom_goal.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "verify/demand.hpp"

namespace coppice::verify {
namespace {

/// A whole number of chunks for each shard is possible with multiples of this.
std::int64_t minChunks(const Demand& table, const Rational& all) {
  std::int64_t chunks = 1;
  for (std::int64_t shard = 0; shard < table.shardCount(); ++shard) {
    chunks = leastCommonMultiple(chunks, (table.share(shard) / all).denominator());
  }
  return chunks;
}

Result<std::vector<CustomShard>> rowsOf(const Demand& table, int chunks) {
  Rational all;
  for (std::int64_t shard = 0; shard < table.shardCount(); ++shard) {
    all += table.share(shard);
  }
  std::vector<CustomShard> rows;
  Rational before;
  for (std::int64_t shard = 0; shard < table.shardCount(); ++shard) {
    const Rational first = before * Rational(chunks) / all;
    before += table.share(shard);
    const Rational end = before * Rational(chunks) / all;
    if (!first.isInteger() || !end.isInteger()) {
      return Error{ErrorCode::badInput,
                   "the shares of the table do not fit the program's " + std::to_string(chunks) + " chunks: shard " +
                       std::to_string(shard) + " would be chunks " + first.toString() + " to " + end.toString(),
                   "give the table that the program was made for; this one needs a multiple of " +
                       std::to_string(minChunks(table, all)) + " chunks"};
    }
    CustomShard row{.first = static_cast<int>(first.numerator()),
                    .count = static_cast<int>(end.numerator() - first.numerator()),
                    .combines = table.combines(shard)};
    row.sources.assign(table.sources(shard).begin(), table.sources(shard).end());
    row.destinations.assign(table.destinations(shard).begin(), table.destinations(shard).end());
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

Result<std::vector<CustomShard>> customGoal(const schedule::CollectiveTable& table, int ranks, int chunks) {
  if (table.rankCount() != ranks) {
    return Error{
        ErrorCode::badInput,
        "the table is for " + std::to_string(table.rankCount()) + " ranks, the program has " + std::to_string(ranks),
        "give the table that the program was made for"};
  }
  return guarded([&] { return rowsOf(Demand(table), chunks); },
                 {.overflow = "the shares of the table leave the 64-bit range",
                  .overflowFix = "use shares with small common denominators"});
}

}  // namespace coppice::verify
