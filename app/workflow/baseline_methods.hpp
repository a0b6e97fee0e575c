// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "workflow/generator.hpp"

namespace coppice::workflow {

/// A method for each entry of baselines::list().
[[nodiscard]] std::vector<Generator> baselineMethods();

}  // namespace coppice::workflow
