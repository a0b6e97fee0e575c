// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "base/failure.hpp"
#include "forestcoll/request.hpp"

namespace coppice::forestcoll {

using coppice::guarded;

/// What the work throws, as the error of a public entry; overflow and memory name what the request asked for.
template <typename T, typename Work>
Result<T> guarded(const Request& request, Work&& work) {
  EntryErrors errors{.overflow = "the fabric's numbers leave the range in which results are proven exact",
                     .overflowFix = "use bandwidths with fewer digits or a common divisor",
                     .memoryFix = "allow more memory, or use a smaller k"};
  if (request.fixedK) {
    errors.overflow = "k = " + std::to_string(*request.fixedK) +
                      " times the fabric's numbers leaves the range in which results are proven exact";
    errors.overflowFix = "use a smaller k, or bandwidths with fewer digits";
  } else if (!request.amounts.empty()) {
    errors.overflow = "the amounts times the fabric's numbers leave the range in which results are proven exact";
    errors.overflowFix = "use smaller amounts, or bandwidths with fewer digits";
  }
  return guarded(std::forward<Work>(work), errors);
}

}  // namespace coppice::forestcoll
