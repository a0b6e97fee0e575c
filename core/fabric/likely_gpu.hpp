// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "fabric/fabric.hpp"

/// What the names of a fabric, its boxes and its nodes tell of its GPUs.
namespace coppice::fabric {

/// These names in lower case.
[[nodiscard]] std::string namesOf(const Fabric& fabric);

/// By the names, as of "HGX B200"; where they say nothing, 90 where switches in a box sum and copy (NVLink SHARP came
/// with Hopper), else 80.
[[nodiscard]] int likelyCapability(const Fabric& fabric);

/// Threadblocks that each of the GPUs runs at once, see namedMultiprocessors().
[[nodiscard]] int likelyMultiprocessors(const Fabric& fabric);

}  // namespace coppice::fabric
