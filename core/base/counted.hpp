// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace coppice {

/// "1 GPU", "3 GPUs". @param plural where it is not the noun with an s
[[nodiscard]] inline std::string counted(std::int64_t count, std::string_view noun, std::string_view plural = {}) {
  std::string text = std::to_string(count) + " ";
  text += count != 1 && !plural.empty() ? plural : noun;
  return count == 1 || !plural.empty() ? text : text + "s";
}

}  // namespace coppice
