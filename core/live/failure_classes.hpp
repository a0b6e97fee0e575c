// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/progress.hpp"
#include "fabric/fabric.hpp"
#include "live/failures.hpp"
#include "symmetry/orbits.hpp"

namespace coppice::live {

/// What symmetries of a fabric keep.
struct SymmetricFabric {
  symmetry::ColouredDigraph graph;      ///< at most one arc per ordered pair
  std::vector<std::string_view> boxOf;  ///< by node: its box ("outer/inner"), or nothing
  std::vector<bool> isGpu;

  /// Throws CancelledError.
  [[nodiscard]] symmetry::Orbits orbits(const Progress& progress) const;
};

/// By failure the first one that some symmetry of the fabric takes to it, by bandwidths and kinds and, for boxes, by
/// the nesting of boxes: all of a class leave the same fabric but for names. Groups are classes of their own. A class
/// may be smaller than it could be where a fabric has very many symmetries. Throws CancelledError.
/// @param fabric of the description that the failures are of, whose nodes it numbers alike
/// @param amounts by rank: GPUs of different amounts are not alike (a root: its own amount); empty = all are
[[nodiscard]] std::vector<std::size_t> failureClasses(const fabric::Fabric& fabric,
                                                      std::span<const std::int64_t> amounts,
                                                      std::span<const PartFailure> failures,
                                                      const Progress& progress = {});
/// The same of what else symmetries are to keep. @param fabric its `boxOf` holds the boxes that failures name
[[nodiscard]] std::vector<std::size_t> failureClasses(SymmetricFabric fabric, std::span<const PartFailure> failures,
                                                      const Progress& progress = {});

}  // namespace coppice::live
