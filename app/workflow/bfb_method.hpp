// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workflow/method.hpp"

namespace coppice::workflow {

/// Breadth-first broadcast, with the number of chunks and the removal of switches. Its front: in steps and as trees;
/// through switches where there are any.
[[nodiscard]] Method bfbMethod();

}  // namespace coppice::workflow
