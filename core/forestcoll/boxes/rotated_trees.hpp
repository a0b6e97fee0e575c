// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/boxes/two_level.hpp"
#include "forestcoll/boxes/two_level_shape.hpp"
#include "forestcoll/network.hpp"

namespace coppice::forestcoll {

/// The forest of growTwoLevel where all boxes and all GPUs are equal: one root's trees stand for all.
///
/// Let B boxes have m GPUs each, every GPU k trees, and every GPU the same capacities inner and outer, of which the
/// smaller of the two directions counts. Number the GPUs (b, i). The rotations (b, i) -> (b + x mod B, i + y mod m)
/// form a group that takes every GPU to every other in exactly one way. Given k trees rooted at (0, 0), let the trees
/// of each root be their images under the rotation that takes (0, 0) there. Then
///
///   - an edge between boxes has N = B*m images, one that ends at each GPU and one that starts at each. With E such
///     edges in the k trees of one root, every GPU sends E and receives E trees by the network;
///   - the same holds for edges inside a box, of which there are k (N - 1) - E.
///
/// So loads are equal at all GPUs whatever the trees are, and they fit iff
///
///     k (N - 1) - inner  <=  E  <=  outer.
///
/// A tree of height 2 sends to e_d >= 1 GPUs, its ENTRIES, of the box at each distance d = 1 .. B-1, and to all others
/// of its own box; each GPU left is served by an entry of its box. Any E from k (B-1) to k (B-1) m is reached, and with
/// q = floor(E / k) two different trees are enough: E mod k copies of one with q + 1 entries, and one with q for the
/// others. Where E can be a multiple of k it is, and one tree is enough.
///
/// An entry that is not on the root's network (rails without a spine) receives from the GPU of the root's box with the
/// entry's own number, which is a relative position too; the height is 3 then. Where routes for direct entries are not
/// found (an oversubscribed spine), two other plans are tried. Where groups of equally many boxes share their leaf
/// switches, boxes rotate among the groups and within them: each tree enters another group once, at its leader, and
/// continues from there, so that no link to the spines carries more than a cut demands. Entries of the leader's own box
/// come by the next box and stay leaves; the height is 3. Last, all numbers but the root's are served by the GPU of the
/// root's box with that number.
///
/// That the links between switches carry these loads is for routeTwoLevel to find; nothing else depends on the group
/// being a symmetry of the fabric. Nothing where the shape is not regular, E does not exist or no routes are found.
/// Linear in the edges of the trees, but for the routes. Deterministic. Throws CancelledError.
[[nodiscard]] std::optional<TwoLevelForest> growRotated(const Network& network, const std::vector<TreeArc>& capacities,
                                                        const std::vector<std::int64_t>& supply,
                                                        const TwoLevelShape& shape, const Progress& progress);

}  // namespace coppice::forestcoll
