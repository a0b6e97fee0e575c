// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/shell.hpp"

namespace coppice::remote {

using coppice::shellWord;
/// A command as a person could type it, for looking at: never for a shell of ours.
[[nodiscard]] std::string commandText(const std::vector<std::string>& words);
/// For a comment line of a script: printable on one line.
[[nodiscard]] std::string commentText(std::string_view text);

}  // namespace coppice::remote
