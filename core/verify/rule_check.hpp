// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

namespace coppice::verify {

/// What the steps of a forest with rotations take where the edges of depth t are sent in step t: by step, the busiest
/// link, in shards (what one root owns) per GB/s. An in-forest sends its deepest edges first; its list begins with
/// those.
///
/// Reads the trees of rank 0 alone, and this is the check of all. Let s_u be the product of the rotations that takes
/// rank 0 to rank u; all nodes are GPUs.
///  * Every rotation is a symmetry of the fabric: links go to links of the same bandwidth. That is checked here.
///  * The s_u are all the products of commuting shifts of the digits of the ranks: a group of N elements, of which only
///    the identity keeps a rank in its place. So no other keeps a link in its place, and every class of links (all
///    images of one) has N links, one of which ends at rank 0, and one of which starts there.
///  * In step t, the image s_u of a tree puts on link s_u(a) what the tree puts on link a. Summed over all u, every
///  link
///    of a class gets the sum of what the tree puts on the links of that class. That sum is what is counted here: each
///    edge is turned to the link of its class at rank 0.
///  * The image of a tree has the depths of the tree. So a parent holds what it sends one step before its child gets
///    it, in all trees if it does in those of rank 0.
/// @pre checkForest finds no fault
/// Errors: badUsage (no rotations; a fabric with relays), verification (a rotation is no symmetry; an edge is no link),
/// overflow, cancelled.
Result<std::vector<InverseBandwidth>> stepTimesByRule(const fabric::Fabric& fabric, const schedule::Forest& forest,
                                                      const Progress& progress = {});

}  // namespace coppice::verify
