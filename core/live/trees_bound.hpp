// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/in_network/tree_mixture.hpp"
#include "live/cut_search.hpp"

/// What no allreduce by trees can beat on a fabric with changes: forestcoll::treeBound. Private to core/live.
namespace coppice::live {

struct BoundState;

/// Some bandwidths of the arcs of the state, in its units over one denominator, and nodes without their links.
/// Nothing where the program was not solved within the budget. Throws OverflowError, CancelledError.
[[nodiscard]] std::optional<forestcoll::TreeBound> treesBound(const BoundState& state, const Trial& trial,
                                                              const Progress& progress);

}  // namespace coppice::live
