// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/checked.hpp"
#include "base/progress.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

namespace coppice::verify {

/// What the trees of a factored forest put on the links.
struct PartsLoad {
  std::vector<Int128> loadOfArc;            ///< of the sound trees, with multiplicities
  std::vector<std::int64_t> faultyTrees;    ///< ascending: no spanning arborescence, or a route does not fit
  bool isByParts = false;                   ///< only the trees of rank 0 were read: see checkParts
  std::vector<std::string> symmetryFaults;  ///< then: rotations that are not symmetries of the fabric; no loads if any
};

/// Edge by edge: expands and checks every tree: each GPU but the root reached once, from one that was reached before,
/// over links that exist and relays that are not GPUs. Linear in the edges of all trees, with memory for one tree per
/// thread; shares the trees among the machine's cores, with the same result for any number of them.
///
/// By parts, for a rotated forest with more than maxEdges edges in all: checks that every rotation is a symmetry of the
/// fabric, then the trees of rank 0 as above, and adds up the loads of all images by cycles of links. Linear in the
/// fabric and the trees of rank 0. This finds a fault exactly where checking edge by edge would. Let s_1 .. s_n be the
/// rotations, and the image of a tree under s = s_n^(e_n) ... s_1^(e_1) one of the trees of the forest.
///  * Trees. A symmetry maps GPUs onto GPUs one to one, relays onto relays and links onto links. So an image reaches
///  each
///    GPU once, from one that was reached before, over links that exist, if and only if the tree itself does.
///  * Roots. checkStructure has proved that each rank r has exactly one list of e_i (the digits of r in the number
///  system
///    of the steps) whose s takes rank 0 to r. So root r has the images of all trees of rank 0, each once, with their
///    multiplicities, which the caller compares with what the forest states.
///  * Loads. An image puts on link s(a) what the tree puts on link a. The sum over all images is what
///    schedule::addImages computes; it proves that there. The loads compared with the capacities are therefore the same
///    numbers.
/// A rotation that is not a symmetry is a fault by parts even where its images happen to fit, since nothing is proved
/// then.
/// @pre schedule::checkStructure finds no fault. Throws CancelledError, std::bad_alloc.
[[nodiscard]] PartsLoad checkParts(const fabric::Fabric& fabric, const schedule::Forest& forest, std::int64_t maxEdges,
                                   const Progress& progress);

}  // namespace coppice::verify
