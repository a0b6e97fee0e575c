// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "schedule/forest.hpp"

namespace coppice::schedule {

/// Finds equal routes, and numbers new ones in the order of their first use.
class RouteIndex {
public:
  /// The number of the route in paths(). Throws OverflowError where there are more routes than a PathId counts.
  PathId idOf(std::span<const fabric::NodeIndex> path);
  [[nodiscard]] PathPool takePaths() { return std::move(m_paths); }

private:
  [[nodiscard]] std::size_t slotOf(std::span<const fabric::NodeIndex> path) const;

  PathPool m_paths;
  std::vector<PathId> m_slots = std::vector<PathId>(1024, -1);  ///< open addressing; a power of two; -1 = free
};

}  // namespace coppice::schedule
