// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <stop_token>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "designer/trees/tree_model.hpp"

namespace coppice::designer {

/// A tree that crosses some links.
struct TreeOnLink {
  TreeRef tree;
  fabric::Rank root = 0;
  std::int64_t copies = 1;
  Bandwidth rate;  ///< that all copies carry over the links, while their forest runs at its algbw
};

struct TreesOnLink {
  std::vector<TreeOnLink> first;  ///< in the order of halves and trees
  std::int64_t different = 0;     ///< in all
  std::int64_t copies = 0;
};

/// The trees that cross any of the arcs (tail, head of the fabric), each crossing counted; the first `max` by
/// themselves. Reads every tree: meant for another thread. The result of a stopped call is useless.
/// Throws OverflowError.
[[nodiscard]] TreesOnLink treesOn(const ScheduleResult& result,
                                  const std::set<std::pair<fabric::NodeIndex, fabric::NodeIndex>>& arcs,
                                  std::size_t max, const std::stop_token& stop);

}  // namespace coppice::designer
