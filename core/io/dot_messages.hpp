// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

/// What coppice-dot says to another program on standard error: one JSON object a line, so that no text is taken apart.
namespace coppice::io {

/// The option before the mode that asks for it.
inline constexpr std::string_view kDotRecords = "--records";

/// Without the line's end. The file's name stays out: the helper reads standard input.
[[nodiscard]] std::string dotRecord(const Finding& finding);
/// nullopt: the line is no such record.
[[nodiscard]] std::optional<Finding> readDotRecord(std::string_view line);

}  // namespace coppice::io
