// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

namespace coppice::schedule {

/// Trees written out take at most so many bytes unless the caller says otherwise.
inline constexpr std::int64_t kMostExpandedBytes = std::int64_t{8} << 30;

/// The same trees written out edge by edge in breadth-first order, equal routes shared. A forest without parts comes
/// back as it is. Errors: badInput (checkStructure's first fault), limit (more than mostBytes, or than there is
/// memory), overflow, cancelled.
[[nodiscard]] Result<Forest> expanded(const Forest& forest, const fabric::Fabric& fabric,
                                      std::int64_t mostBytes = kMostExpandedBytes, const Progress& progress = {});

}  // namespace coppice::schedule
