// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <utility>

#include "base/checked.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"

namespace coppice::workflow {

/// Runs work that may throw what core throws, and turns that into an error. For threads that must not end by an
/// exception; the command line catches at the top instead. Errors: overflow, cancelled, limit (memory), and those of
/// the work.
template <typename Value, typename Work>
[[nodiscard]] Result<Value> guarded(Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const OverflowError& error) {
    return Error{ErrorCode::overflow, error.what(), "use bandwidths with fewer digits, or a smaller k"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "cancelled"};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit, "there is not enough memory for this schedule", "use a smaller k or fewer GPUs"};
  }
}

}  // namespace coppice::workflow
