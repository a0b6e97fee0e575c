// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/progress.hpp"
#include "bfb/logical.hpp"
#include "fabric/fabric.hpp"

namespace coppice::bfb {

/// Logical topologies for fabrics of equal boxes that are joined by switches. Inside a box, GPUs have their direct
/// links, and where they share a switch of their own, one link to each other. Between boxes, a GPU sends to those of
/// the same place in other boxes alone: so each shard enters a box once on the way to its place, and the links inside
/// the box spread it. Which boxes a box sends to is a circulant: all others (fewest steps), the next (most throughput,
/// as many steps as boxes), the next and the one before, or those at distances 1, 2, 4, ...
///
/// Switch removal (Algorithm 3) keeps what a pipelined forest needs. In steps, where every shard takes a shortest path,
/// the distances of the logical topology matter as well, and these choices are often better. Bandwidths of links are
/// what routes through the switches have when all are used alike; a route is a shortest one.
/// Empty where the GPUs are not in equal boxes, or routes are missing. Throws OverflowError, CancelledError.
[[nodiscard]] std::vector<Logical> boxWirings(const fabric::Fabric& fabric, const Progress& progress);

}  // namespace coppice::bfb
