// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/units.hpp"
#include "designer/jobs/snapshot.hpp"
#include "live/prices.hpp"

namespace coppice::designer {

/// Links whose bandwidths change together, by the same GB/s for each of them, as core/live asks for it.
struct PricedLinks {
  live::LinkGroup group;
  std::vector<LinkId> ids;
  std::int64_t count = 0;  ///< parallel links counted singly
  Bandwidth bandwidth;     ///< per direction of each; the minimum where they differ
  Bandwidth max;           ///< the largest
};

// All of these are for a snapshot whose bound is known: names are unique, ends exist, bandwidths can be read. Links for
// which that is not so are left out. Throw OverflowError.

/// Links of the same kinds of ends, inside one box or not, of one bandwidth: a class each, if it has two or more links.
[[nodiscard]] std::vector<PricedLinks> linkClassesOf(const Snapshot& snapshot);
/// Each link of the document by itself.
[[nodiscard]] std::vector<PricedLinks> singleLinksOf(const Snapshot& snapshot);
/// The given links as one group; ids is empty where none of them is in the fabric.
[[nodiscard]] PricedLinks linksTogether(const Snapshot& snapshot, const std::set<LinkId>& links);

}  // namespace coppice::designer
