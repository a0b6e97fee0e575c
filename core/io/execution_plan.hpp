// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace coppice::io {

/// The refusal of an execution plan of MSCCL++, with its name; absent where the text is none. Costs a pass over the
/// JSON, so ask when the text has turned out to be nothing else.
[[nodiscard]] std::optional<Error> refusedExecutionPlan(std::string_view text, const std::string& fileName);

}  // namespace coppice::io
