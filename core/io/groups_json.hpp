// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/concurrent.hpp"

/// Files of collectives that run at the same time:
///
///     [{"ranks": [0, 4, "b1g0", "8-11"], "collective": "allreduce", "weight": 1},
///      {"ranks": "all", "collective": "broadcast", "root": 0, "weight": "3/2"}]
///
/// A rank is a whole number, the id of a GPU, or a range of ranks. weight is 1 where it is left out, and the root is
/// the first rank listed. The list may also stand in an object, {"groups": [...], "relay": true}; relay is true where
/// GPUs pass on data of groups that they are not in, or a list of those that do.
namespace coppice::io {

/// Errors: badInput with line, column and the group (counted from 0) as element.
[[nodiscard]] Result<schedule::ConcurrentDemand> readGroups(std::string_view text, const std::string& fileName,
                                                            const fabric::Fabric& fabric);

}  // namespace coppice::io
