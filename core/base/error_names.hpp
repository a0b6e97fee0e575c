// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.hpp"

namespace coppice {

/// "bad_input": as JSON and Python have it.
[[nodiscard]] std::string_view nameOf(ErrorCode code);

}  // namespace coppice
