// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "workflow/method.hpp"

namespace coppice::workflow {

/// A method for each entry of baselines::list().
[[nodiscard]] std::vector<Method> baselineMethods();

}  // namespace coppice::workflow
