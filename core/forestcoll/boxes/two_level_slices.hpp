// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "forestcoll/boxes/two_level_shape.hpp"

namespace coppice::forestcoll {

/// Trees of a two-level forest that come in equal copies.
struct TwoLevelSlice {
  std::int64_t copies = 1;           ///< of each tree
  std::vector<std::int64_t> supply;  ///< by rank: different trees
  TwoLevelShape shape;               ///< its capacities are those of one copy of each tree
};

/// Cuts a forest of k > 1 trees per root into slices with one tree of each root, so that growTwoLevel has to make
/// fewer of them than k: a fabric that lost GPUs mostly needs two.
///
/// Number the trees of each root 0 .. k-1. A slice holds numbers x .. y-1 of every root, all alike, and these are its
/// copies. Let a GPU have the capacity c = q k + r, 0 <= r < k, on one side. The slice's share of it is q + 1 or q:
///
///   to and from the network   q + 1 where y <= r
///   inside the box            q + 1 where x >= k - r
///
/// Copies times shares, summed over all slices, is at most q k + r = c, so trees that fit the slices fit together.
/// Borders are the r of the network side of GPUs at the bottleneck, whose capacities on both sides sum to k (N - 1): a
/// GPU whose border lies at r has k - r or nothing left inside, so every slice gives it exactly N - 1, and nothing is
/// lost at it. Elsewhere a share is rounded down, which may be too little; the trees are then made one by one.
///
/// Empty where roots differ in their trees, or where there would be more than k / 2 slices.
[[nodiscard]] std::vector<TwoLevelSlice> twoLevelSlices(const TwoLevelShape& shape,
                                                        const std::vector<std::int64_t>& supply);

}  // namespace coppice::forestcoll
