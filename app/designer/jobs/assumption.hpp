// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <set>

#include "base/units.hpp"
#include "designer/jobs/snapshot.hpp"

namespace coppice::designer {

/// A change of the fabric that is looked at without making it: parts that fail, or links with another bandwidth.
struct Assumption {
  QString title = {};  ///< "If b0g0 fails", "What if: 8 links at 100 GB/s per direction", "If switches only forward"
  std::set<ElementId> failed = {};  ///< nodes, and one of the parallel links of each link
  std::set<LinkId> changed = {};
  Bandwidth change =
      {};  ///< GB/s per direction that each parallel link of `changed` gains; a link that has none left fails
  bool plainSwitches = false;  ///< no switch copies or sums, whatever the fabric says

  friend bool operator==(const Assumption&, const Assumption&) = default;
};

/// The facts as they would be. A bandwidth that cannot be read stays as it is. Throws OverflowError.
[[nodiscard]] Snapshot assumed(const Snapshot& snapshot, const Assumption& assumption);

}  // namespace coppice::designer
