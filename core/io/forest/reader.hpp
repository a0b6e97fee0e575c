// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "io/forest/content.hpp"

namespace coppice::io::forest {

/// Reads the whole text. Throws Refusal.
[[nodiscard]] Raw readContent(std::string_view text);

}  // namespace coppice::io::forest
