// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/progress.hpp"
#include "forestcoll/packing/tree_table.hpp"

namespace coppice::forestcoll {

struct GrowthLimits {
  int maxHeight = 0;
  int maxTrees = 0;       ///< distinct ones; a last cut may add a few
  std::int64_t work = 0;  ///< elementary steps
};

/// Grows all trees of the table together from their roots, height after height: at height h every node takes all trees
/// that some tail of its arcs has at a level below h, as many as alternating paths allow. What hangs on the node
/// already may move, with all that hangs below it, as long as nothing comes to lie deeper than h. Where breadth-first
/// levels suffice they are what comes out. Trees whose copies find no common way are cut.
/// True when all trees span. Deterministic. Throws CancelledError,
/// WorkLimitReached.
[[nodiscard]] bool growTrees(TreeTable& table, const GrowthLimits& limits, const Progress& progress);

}  // namespace coppice::forestcoll
