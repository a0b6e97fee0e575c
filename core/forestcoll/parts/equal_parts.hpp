// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/fabric.hpp"

namespace coppice::forestcoll {

/// Classes of nodes that some symmetry of the fabric maps onto each other, proved: by node the lowest node of its
/// class.
///
/// Candidates are the boxes of the fabric, at every level of nesting, and GROUPS: a switch in no box with all boxes and
/// GPUs that are linked to it and to nothing else outside, such as a leaf switch with its boxes; then a switch with all
/// groups that hang on it alone, such as a pod, and so on. Boxes and groups are treated alike. Two are equal if they
/// list the same kinds of nodes with the same demands in the same order, the same links between these, and links of the
/// same bandwidth to the SAME nodes outside. Exchanging their nodes in order, and nothing else, then maps every link of
/// the fabric onto a link of the same bandwidth. So does every chain of such exchanges, whatever the levels. Boxes that
/// are equal in another order, or on other switches, are not found; then classes are smaller than they could be, which
/// costs time and nothing else. Linear in nodes and links, but for sorting.
[[nodiscard]] std::vector<int> symmetryClasses(const fabric::Fabric& fabric,
                                               std::span<const std::int64_t> demandByRank);

}  // namespace coppice::forestcoll
