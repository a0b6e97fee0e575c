// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "fabric/fabric.hpp"
#include "live/failures.hpp"

namespace coppice::live {

/// By failure the first one that some symmetry of the fabric takes to it, by bandwidths and kinds and, for boxes, by
/// the nesting of boxes: all of a class leave the same fabric but for names. Groups are classes of their own. A class
/// may be smaller than it could be where a fabric has very many symmetries. Throws CancelledError.
/// @param fabric of the description that the failures are of, whose nodes it numbers alike
/// @param amounts by rank: GPUs of different amounts are not alike (a root: its own amount); empty = all are
[[nodiscard]] std::vector<std::size_t> failureClasses(const fabric::Fabric& fabric,
                                                      std::span<const std::int64_t> amounts,
                                                      std::span<const PartFailure> failures,
                                                      const Progress& progress = {});

}  // namespace coppice::live
