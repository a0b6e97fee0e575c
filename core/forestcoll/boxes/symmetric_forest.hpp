// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/network.hpp"
#include "schedule/forest.hpp"

namespace coppice::forestcoll {

/// Forests of very large fabrics whose GPUs are all alike, such as thousands of equal boxes: only the trees of rank 0
/// are built, and every other tree is the image of one of them under rotations of the fabric (schedule/rotation.hpp).
/// Time and memory grow with the GPUs, not with their square.
///
/// Let G be the group of the rotations. It takes rank 0 to each rank exactly once, so each rank is the root of one
/// image of each tree. An image uses the images of the links, which have the same bandwidth. Over all of G, every link
/// of an orbit O carries
///
///   |G| / |O| * (what the trees of rank 0 put on all links of O together),
///
/// so only the total per orbit counts, and no load has to be balanced between equal GPUs.
///
/// The trees of rank 0 are those of two_level.hpp. With n boxes of m GPUs, k trees per root, `inner` and `outer` the
/// capacity of a GPU towards its box and towards the network:
///  * in its own box a root is a star: k (m - 1) edges inside boxes;
///  * every other box is entered at one or more of its GPUs, E times in all, and the entries serve the other GPUs of
///    the box: k (n - 1) m - E edges inside boxes.
/// All GPUs are in one orbit, so these totals are what each GPU receives and sends. That asks for
///
///   k (n - 1) <= E <= outer   and   k (m - 1) + k (n - 1) m - E <= inner.
///
/// The smallest such E is taken and dealt evenly to the pairs of a tree and a box. An entry is served by the root, or
/// by the GPU of the root's box that is nearest to it where that is nearer (rails). Height 2, or 3 with such GPUs.
/// Routes are shortest ones; of several, the one whose links have the most room left in their orbits is taken. The
/// orbits' totals are kept at each step, so a forest that is found is exact.
///
/// Nothing where the fabric has no such rotations or boxes, or where the totals do not fit. Deterministic.
/// @param fabric the one the network was made of
/// @return trees, edges, paths and rotations alone. Throws OverflowError, CancelledError.
[[nodiscard]] std::optional<schedule::Forest> growSymmetricForest(const fabric::Fabric& fabric, const Network& network,
                                                                  const std::vector<TreeArc>& capacities,
                                                                  const std::vector<std::int64_t>& supply,
                                                                  const Progress& progress);

}  // namespace coppice::forestcoll
