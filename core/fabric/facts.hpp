// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fabric/description.hpp"
#include "fabric/fabric.hpp"

namespace coppice::fabric {

/// The facts of a fabric as a description: same nodes in the same order, stated ranks, merged links.
[[nodiscard]] Description describeFacts(const Fabric& fabric);

}  // namespace coppice::fabric
