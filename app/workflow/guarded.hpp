// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "base/failure.hpp"

namespace coppice::workflow {

/// Runs work that may throw what core throws, and turns that into an error. For threads that must not end by an
/// exception; the command line catches at the top instead. Errors: overflow, cancelled, limit (memory), and those of
/// the work.
template <typename Value, typename Work>
[[nodiscard]] Result<Value> guarded(Work&& work) {
  return coppice::guarded(std::forward<Work>(work), {.overflowFix = "use bandwidths with fewer digits, or a smaller k",
                                                     .memory = "there is not enough memory for this schedule",
                                                     .memoryFix = "use a smaller k or fewer GPUs"});
}

}  // namespace coppice::workflow
