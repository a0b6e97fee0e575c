// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workflow/method.hpp"

namespace coppice::workflow {

/// The allreduce of the linear program of App. B.7.
[[nodiscard]] Method overlapMethod();

}  // namespace coppice::workflow
