// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::schedule {

/// The arcs of the fabric that one tree loads once more where GPUs get their own copies (Schedule::ownCopies), by
/// index, without repetition. Empty where nothing of the tree is pruned. Arcs that the fabric lacks are left out.
[[nodiscard]] std::vector<int> ownCopies(const fabric::Fabric& fabric, Direction direction, TreeReader& reader,
                                         const TreeReader::View& tree);

}  // namespace coppice::schedule
