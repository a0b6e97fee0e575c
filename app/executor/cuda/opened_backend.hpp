// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "engine/backend.hpp"
#include "engine/within_memory.hpp"

namespace coppice::executor::cuda {

/// A backend made of these parts, and opened. Errors: those of `open`, limit (memory).
template <typename Made, typename Open, typename... Parts>
[[nodiscard]] Result<std::unique_ptr<Backend>> openedBackend(Open open, Parts&&... parts) {
  return withinMemory(
      [&]() -> Result<std::unique_ptr<Backend>> {
        auto backend = std::make_unique<Made>(std::forward<Parts>(parts)...);
        if (const Outcome opened = open(*backend); !opened) {
          return opened.error();
        }
        return std::unique_ptr<Backend>(std::move(backend));
      },
      "for the GPU backend");
}

}  // namespace coppice::executor::cuda
