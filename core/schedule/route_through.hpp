// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "base/result.hpp"
#include "fabric/fabric.hpp"

namespace coppice::schedule {

/// A shortest route from a GPU to another that leads through one node, or over one link in either direction, and
/// through no other GPU and no node twice. Where links run both ways that is two paths without a common node from the
/// node to both GPUs, of the least length together, which a flow of two units is. A link that runs one way alone may
/// lead such a path against it; then all routes are tried, as far as a limit of work reaches.
/// @param through a node, or both ends of a link
/// Errors: infeasible (there is no such route), limit (none was found, and not all were tried).
[[nodiscard]] Result<std::vector<fabric::NodeIndex>> routeThrough(const fabric::Fabric& fabric, fabric::NodeIndex from,
                                                                  fabric::NodeIndex to,
                                                                  std::span<const fabric::NodeIndex> through);

}  // namespace coppice::schedule
