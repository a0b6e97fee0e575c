// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "fabric/description.hpp"
#include "live/failures.hpp"

/// Parts that fail together.
namespace coppice::live {

/// The switches outside boxes that GPUs and NICs are linked to, each alone. Errors: badUsage (there is none).
[[nodiscard]] Result<std::vector<PartFailure>> leafFailures(const fabric::Description& description);

/// Of each rail its leaf switches: those to which the GPUs, or NICs, of the same place in each box are linked,
/// places counted in the description's order. Errors: badUsage (some leaf switch serves several places, or there is
/// only one place).
[[nodiscard]] Result<std::vector<PartFailure>> railFailures(const fabric::Description& description);

/// Groups as people write them, such as what hangs on a power shelf: one per line, its name, a colon, and ids of nodes
/// or names of boxes separated by commas; * stands for any characters, and # begins a comment.
/// Errors: badInput with the line (no colon, an empty or repeated name, nothing matches an item).
[[nodiscard]] Result<std::vector<PartFailure>> parseGroups(const fabric::Description& description,
                                                           std::string_view text);

}  // namespace coppice::live
