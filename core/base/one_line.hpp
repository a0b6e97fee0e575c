// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace coppice {

/// A name for a line of output: control characters escaped ("\n", "\x1b"), everything else as it is. A name from a
/// third-party file can then neither add lines nor steer a terminal.
[[nodiscard]] std::string oneLine(std::string_view text);

}  // namespace coppice
