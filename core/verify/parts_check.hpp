// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/checked.hpp"
#include "base/progress.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

namespace coppice::verify {

/// What the trees of a factored forest, read one by one, put on the links.
struct PartsLoad {
  std::vector<Int128> loadOfArc;          ///< of the sound trees, with multiplicities
  std::vector<std::int64_t> faultyTrees;  ///< ascending: no spanning arborescence, or a route does not fit
};

/// Expands and checks every tree: each GPU but the root reached once, from one that was reached before, over links that
/// exist and relays that are no GPUs. Linear in the edges of all trees, with memory for one tree per thread; shares the
/// trees among the machine's cores, with the same result for any number of them.
/// @pre schedule::checkStructure finds no fault. Throws CancelledError, std::bad_alloc.
[[nodiscard]] PartsLoad checkParts(const fabric::Fabric& fabric, const schedule::Forest& forest,
                                   const Progress& progress);

}  // namespace coppice::verify
