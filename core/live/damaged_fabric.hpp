// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "fabric/description.hpp"
#include "live/failures.hpp"

/// The fabric after a failure, as a description of its own.
namespace coppice::live {

struct DamagedFabric {
  fabric::Description description;
  std::vector<fabric::NodeIndex> nodes;  ///< by node of the whole fabric: that of `description`; -1 = gone
};

/// Without what the failure takes away. Ranks follow the old order of the GPUs that are left. Errors: badUsage (a link
/// that is not there).
[[nodiscard]] Result<DamagedFabric> damagedFabric(const fabric::Description& description, const PartFailure& failure);

/// What of a failure of the whole fabric there is left to fail on the damaged one, by its nodes.
[[nodiscard]] PartFailure onDamaged(const DamagedFabric& damaged, PartFailure failure);

/// "nic b0n3"; of a group its name.
[[nodiscard]] std::string described(const PartFailure& failure);

/// Both at once, as a group. What both take away, such as a link of a failed node, counts once.
[[nodiscard]] PartFailure together(const PartFailure& first, const PartFailure& second);

}  // namespace coppice::live
