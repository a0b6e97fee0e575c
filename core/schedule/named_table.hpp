// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/collective.hpp"
#include "base/result.hpp"
#include "schedule/collective_table.hpp"

namespace coppice::schedule {

/// A table of shards by the name of a collective, with amounts where its shares differ. Errors: badUsage (custom; the
/// root), badInput (it is another collective: what the first shard that differs differs in), overflow.
[[nodiscard]] Result<CollectiveTable> named(const CollectiveTable& table, Collective collective,
                                            std::optional<fabric::Rank> root);

}  // namespace coppice::schedule
