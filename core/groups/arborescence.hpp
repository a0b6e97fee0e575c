// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/checked.hpp"

namespace coppice::groups {

/// By node the tail of its arc in the cheapest spanning out-tree of a complete digraph; -1 at the root. Edmonds'
/// algorithm in Tarjan's form for dense graphs, O(n^2): Networks 7 (1977).
/// @param costs of the arcs into one node after the other, costs[head * n + tail] >= 0; the diagonal is not read
[[nodiscard]] std::vector<int> cheapestArborescence(int n, int root, const std::vector<Int128>& costs);

}  // namespace coppice::groups
