// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workflow/generator.hpp"

namespace coppice::workflow {

/// Step-synchronous synthesis: the least R/C within a number of steps, as far as the time allows.
[[nodiscard]] Generator scclMethod();

}  // namespace coppice::workflow
