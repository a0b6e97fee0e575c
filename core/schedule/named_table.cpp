// SPDX-License-Identifier: Apache-2.0
#include "schedule/named_table.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/checked.hpp"
#include "base/rational.hpp"

namespace coppice::schedule {

using fabric::Rank;

Result<CollectiveTable> named(const CollectiveTable& table, Collective collective, std::optional<Rank> root) {
  auto made = CollectiveTable::make(collective, table.rankCount(), root);
  try {
    if (made && made->shardCount() > 1 && made->shardCount() == table.shardCount()) {
      std::int64_t denominator = 1;
      for (std::int64_t shard = 0; shard < table.shardCount(); ++shard) {
        denominator = leastCommonMultiple(denominator, table.share(shard).denominator());
      }
      std::vector<std::int64_t> amounts;
      for (std::int64_t shard = 0; shard < table.shardCount(); ++shard) {
        amounts.push_back((table.share(shard) * Rational(denominator)).numerator());
      }
      const bool areEqual = std::adjacent_find(amounts.begin(), amounts.end(), std::not_equal_to<>()) == amounts.end();
      made = areEqual ? made : CollectiveTable::make(collective, table.rankCount(), root, amounts);
    }
  } catch (const OverflowError&) {
    return Error{ErrorCode::overflow, "the shares of the table leave the 64-bit range",
                 "use shares with a small common denominator"};
  }
  const std::string difference = made ? differenceFrom(*made, table) : std::string();
  if (!difference.empty()) {
    return Error{ErrorCode::badInput,
                 "the table is not that of " + std::string(toString(collective)) + ": " + difference,
                 "name its collective, or none for a custom collective"};
  }
  return made;
}

}  // namespace coppice::schedule
