// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/network.hpp"

namespace coppice::forestcoll {

enum class Trimming {
  none,
  proportional,  ///< one factor for a whole tier of links
  restoring      ///< from zero, each link as far as some cut needs it
};

/// Takes unused capacity away from the links between switches, farthest from the GPUs first, then from the narrower
/// links of multi-homed GPUs, while the capacities stay feasible. More cuts become tight, so that tree packing falls
/// apart into small problems, and no traffic crosses the core without need. Both directions of a link lose the same
/// amount, which keeps every node balanced; links whose directions differ are left alone. @pre feasible for the
/// supplies. Throws CancelledError, OverflowError.
void trimCapacities(const Network& network, std::vector<TreeArc>& capacities, const std::vector<std::int64_t>& supply,
                    Trimming policy, const Progress& progress);

}  // namespace coppice::forestcoll
