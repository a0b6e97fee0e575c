// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/result.hpp"
#include "schedule/collective_table.hpp"
#include "verify/program_verifier.hpp"

namespace coppice::verify {

/// What a table of shards demands of the chunks of a program, whose buffers hold all shards one after the other, each
/// with its share. Errors: badInput (the table is for another number of ranks; a shard would begin within a chunk),
/// overflow.
[[nodiscard]] Result<std::vector<CustomShard>> customGoal(const schedule::CollectiveTable& table, int ranks,
                                                          int chunks);

}  // namespace coppice::verify
