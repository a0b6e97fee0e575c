// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"

namespace coppice::fabric {

/// Capacity to add in one direction between two nodes.
struct BalanceChange {
  std::string src;
  std::string dst;
  Bandwidth increase;      ///< positive
  bool isNewLink = false;  ///< no link runs from src to dst yet

  friend bool operator==(const BalanceChange&, const BalanceChange&) = default;
};

/// The minimum added bandwidth after which every node's ingress equals its egress; empty for a balanced fabric.
/// One unit of capacity from u to v balances one unit of missing egress at u and of missing ingress at v, so no change
/// can add less than the sum of the positive imbalances, and this one adds exactly that. Existing links take as much of
/// it as a maximum flow from the nodes short of egress to those short of ingress can place on them; new one-way links
/// take the rest. Sorted by (src, dst) in node order. Errors: overflow.
[[nodiscard]] Result<std::vector<BalanceChange>> smallestBalanceChange(const Fabric& fabric);

/// `raise "s" -> "g0" by 2 GB/s`, or `add a one-way link "s" -> "g0" of 2 GB/s`.
[[nodiscard]] std::string describe(const BalanceChange& change);

}  // namespace coppice::fabric
