// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "base/checked.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"

namespace coppice {

/// An error on its way to the public entry of a module, which returns it: see guarded().
struct Failure {
  Error error;
};

/// The value of a result. Throws Failure with its error.
template <typename T>
[[nodiscard]] T orThrow(Result<T> result) {
  if (!result) {
    throw Failure{result.error()};
  }
  return *std::move(result);
}
inline void orThrow(Outcome outcome) {
  if (!outcome) {
    throw Failure{outcome.error()};
  }
}

/// What a public entry says where its work cannot go on.
struct EntryErrors {
  std::string overflow = {};  ///< empty = as the exception has it
  std::string overflowFix = "use bandwidths with fewer digits";
  std::string memory = "out of memory";
  std::string memoryFix = "use a smaller fabric";
  std::string cancelled = "cancelled";
  Place where = {};  ///< of overflow and memory
};

namespace detail {
template <typename T>
struct ResultOf {
  using Type = Result<T>;
};
template <typename T>
struct ResultOf<Result<T>> {
  using Type = Result<T>;
};
}  // namespace detail

/// Runs the work of a public entry and turns what it throws into an Error. Errors: those of the work, overflow,
/// cancelled, limit (memory).
template <typename Work>
[[nodiscard]] auto guarded(Work&& work, const EntryErrors& errors = {}) ->
    typename detail::ResultOf<std::invoke_result_t<Work>>::Type {
  try {
    return std::forward<Work>(work)();
  } catch (const Failure& failure) {
    return failure.error;
  } catch (const OverflowError& error) {
    return Error{ErrorCode::overflow, errors.overflow.empty() ? error.what() : errors.overflow, errors.overflowFix,
                 errors.where};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, errors.cancelled};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit, errors.memory, errors.memoryFix, errors.where};
  }
}

}  // namespace coppice
