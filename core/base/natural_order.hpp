// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace coppice {

/// Orders names with their numbers as numbers: "gpu2" before "gpu10", in any locale. Leading zeros do not count; names
/// that differ in nothing else are ordered as text, so that the order is total.
[[nodiscard]] bool naturalLess(std::string_view a, std::string_view b);

}  // namespace coppice
