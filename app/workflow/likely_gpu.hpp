// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "fabric/fabric.hpp"

/// What the names of a fabric, its boxes and its nodes tell of its GPUs.
namespace coppice::workflow {

/// These names in lower case.
[[nodiscard]] std::string namesOf(const fabric::Fabric& fabric);

/// By the names, as of "HGX B200"; where they say nothing, 90 where switches in a box sum and copy (NVLink SHARP came
/// with Hopper), else 80.
[[nodiscard]] int likelyCapability(const fabric::Fabric& fabric);

/// Threadblocks that each of the GPUs runs at once, one on a multiprocessor or compute unit: by the names in a text,
/// such as namesOf() or the name of a plan, and where these tell of several kinds of GPUs the least; else 108, as of an
/// A100.
[[nodiscard]] int likelyMultiprocessors(std::string_view text);

}  // namespace coppice::workflow
