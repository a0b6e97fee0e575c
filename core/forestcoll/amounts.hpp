// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "fabric/fabric.hpp"

namespace coppice::forestcoll {

/// Relative data of each rank (Request::amounts), as people write it: one number per rank in their order ("1,1,2,0"),
/// or numbers by GPU id ("b0g3=2,b1*=0"), where * stands for any characters, a later item outdoes an earlier one, and
/// GPUs that none names have 1.
/// @return one number, 0 or more, per rank; empty for an empty text
/// Errors: badUsage (neither form, a wrong count, an id that no GPU has, a negative number).
[[nodiscard]] Result<std::vector<std::int64_t>> parseAmounts(const fabric::Fabric& fabric, std::string_view text);

}  // namespace coppice::forestcoll
