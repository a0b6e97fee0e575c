// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "forestcoll/forestcoll.hpp"
#include "workflow/method.hpp"

namespace coppice::workflow {

/// ForestColl with its options: trees per root (k, k-max, within, sizes), heights, peers, pruning in switches.
[[nodiscard]] Method forestCollMethod();

/// What ForestColl is asked with these options; sizes, max-peers and prune are not part of it. Errors: badUsage.
[[nodiscard]] Result<forestcoll::Request> forestCollRequest(const Demand& demand, const OptionValues& values);

}  // namespace coppice::workflow
