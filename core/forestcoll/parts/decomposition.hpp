// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/network.hpp"
#include "schedule/factored.hpp"
#include "schedule/forest.hpp"

/// Divide and conquer on the network itself, switches included, before any switch is split.
///
/// A set Q of nodes is TIGHT when in(Q) + r(Q) = K: every tree that starts outside enters it exactly once. Where all
/// arcs into and out of Q end at GPUs of Q, the problem falls apart exactly:
///  * outside: Q contracted to one GPU with supply r(Q);
///  * inside:  the network induced on Q, with supply r(h) + a(h), a(h) being the capacity that enters Q at h.
/// Both are feasible iff the whole is: cuts of the outside are cuts of the whole, and a set S inside Q has
/// in_Q(S) + r(S) + a(S) = in(S) + r(S). Switches stay balanced on both sides. Any inside tree rooted at the entry may
/// continue an outside tree there, since it spans Q and so reaches every GPU from which the outside tree continues.
///
/// Where arcs across the border end at a switch w of Q (a leaf switch, a router), they are first moved to GPU
/// endpoints: splitting off pairs (v, w), (w, z) moves the capacity of w -> z to an arc v -> z with a route through w,
/// v being nearer to the GPUs than w. Splitting keeps the balance of every node and the tightness of Q; whether it
/// keeps all other cuts is checked by one pass of the feasibility oracle over the whole network.
namespace coppice::forestcoll {

/// How one part, or the outside, is solved: switch removal, packing and path recovery on its own network.
/// Ranks and route nodes of the result are those of the network given.
/// As in growByParts, the full capacities are those that were trimmed.
using SolvePart = std::function<schedule::Forest(const Network& network, const std::vector<TreeArc>& capacities,
                                                 const std::vector<TreeArc>& fullCapacities,
                                                 const std::vector<std::int64_t>& supply)>;

/// Asked once where the trees over the parts cannot be stars: such trees are higher, and finding them can cost much
/// more than all the rest. True where the caller has a better forest than one by parts would be.
using HasBetter = std::function<bool()>;

/// A forest by parts, or nothing where no useful family of tight sets with borders at GPUs was found, or hasBetter said
/// so.
/// @param capacities trees per arc of the network, feasible and balanced at switches
/// @param fullCapacities the same before trimming
/// @param solve called for every distinct part, not for the outside; on several threads at once
/// Throws Failure, OverflowError, CancelledError.
[[nodiscard]] std::optional<schedule::FactoredForest> growByParts(const Network& network,
                                                                  const std::vector<TreeArc>& capacities,
                                                                  const std::vector<TreeArc>& fullCapacities,
                                                                  const std::vector<std::int64_t>& supply,
                                                                  const SolvePart& solve, const HasBetter& hasBetter,
                                                                  const Progress& progress);

}  // namespace coppice::forestcoll
