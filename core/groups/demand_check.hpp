// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/result.hpp"
#include "schedule/concurrent.hpp"

namespace coppice::groups {

/// What is wrong with the groups of a fabric with this many GPUs: badUsage naming the group; nothing where all is well.
[[nodiscard]] std::optional<Error> faultOf(const schedule::ConcurrentDemand& demand, int gpus);

}  // namespace coppice::groups
