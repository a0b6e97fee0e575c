// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/shell.hpp"

namespace coppice::remote {

using coppice::shellWord;
/// For a comment line of a script: printable on one line.
[[nodiscard]] std::string commentText(std::string_view text);

}  // namespace coppice::remote
