// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/checked.hpp"
#include "base/result.hpp"

namespace coppice::executor {

/// Runs work that reserves memory, which returns an Outcome or a Result. Errors: those of the work, limit (memory).
template <typename Work>
[[nodiscard]] auto withinMemory(Work&& work, std::string_view purpose = "to prepare the run")
    -> std::invoke_result_t<Work> {
  try {
    return std::forward<Work>(work)();
  } catch (const std::bad_alloc&) {
    return Error{.code = ErrorCode::limit, .message = "not enough memory " + std::string(purpose)};
  } catch (const OverflowError&) {
    return Error{.code = ErrorCode::limit, .message = "the run needs more memory than the address space has"};
  }
}

}  // namespace coppice::executor
