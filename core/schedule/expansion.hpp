// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "schedule/forest.hpp"

namespace coppice::schedule {

/// Trees written edge by edge take at most this many bytes unless the caller says otherwise.
inline constexpr std::int64_t kMaxWrittenBytes = std::int64_t{8} << 30;

/// That trees of about that many bytes are more than maxBytes, and what is possible.
[[nodiscard]] Error treesTooLarge(std::int64_t trees, std::int64_t bytes, std::int64_t maxBytes);

/// The same forest without rotations: every image written, in the order of TreeReader, equal routes shared. A forest
/// without rotations comes back as it is. Errors: badInput (rotationFault, or another number of GPUs), limit (more than
/// maxBytes, or than there is memory), overflow, cancelled.
[[nodiscard]] Result<Forest> expanded(const Forest& forest, const fabric::Fabric& fabric,
                                      std::int64_t maxBytes = kMaxWrittenBytes, const Progress& progress = {});

}  // namespace coppice::schedule
