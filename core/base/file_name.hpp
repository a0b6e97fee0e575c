// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace coppice {

/// A name for a file: letters, digits, "_" and points within it stay, each run of others becomes "-":
/// "leaf-spine-2-1-4-boxes" of "leaf-spine 2:1, 4 boxes".
[[nodiscard]] std::string asFileName(std::string_view text);

}  // namespace coppice
