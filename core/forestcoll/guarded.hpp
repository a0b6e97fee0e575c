// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <string>

#include "base/checked.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/network.hpp"

namespace coppice::forestcoll {

/// What the work throws, as the error of a public entry.
template <typename T, typename Work>
Result<T> guarded(const Request& request, Work&& work) {
  try {
    return work();
  } catch (const Failure& failure) {
    return failure.error;
  } catch (const OverflowError&) {
    if (request.fixedK) {
      return Error{ErrorCode::overflow,
                   "k = " + std::to_string(*request.fixedK) +
                       " times the fabric's numbers leaves the range in which results are proven exact",
                   "use a smaller k, or bandwidths with fewer digits"};
    }
    if (!request.amounts.empty()) {
      return Error{ErrorCode::overflow,
                   "the amounts times the fabric's numbers leave the range in which results are proven exact",
                   "use smaller amounts, or bandwidths with fewer digits"};
    }
    return Error{ErrorCode::overflow, "the fabric's numbers leave the range in which results are proven exact",
                 "use bandwidths with fewer digits or a common divisor"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "cancelled"};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit, "out of memory", "allow more memory, store the trees by parts, or use a smaller k"};
  }
}

}  // namespace coppice::forestcoll
