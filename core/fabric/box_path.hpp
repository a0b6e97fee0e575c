// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

namespace coppice::fabric {

/// The first `level` names of a box "outer/inner/innermost"; empty where it is not nested that deep.
[[nodiscard]] inline std::string_view boxAtLevel(std::string_view box, int level) {
  std::size_t end = 0;
  for (int i = 0; i < level; ++i) {
    if (end >= box.size()) {
      return {};
    }
    end = std::min(box.find('/', end + (i > 0 ? 1 : 0)), box.size());
  }
  return box.substr(0, end);
}

}  // namespace coppice::fabric
