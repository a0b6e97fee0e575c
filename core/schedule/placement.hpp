// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/collective.hpp"
#include "fabric/fabric.hpp"

/// Which k of the free GPUs a job should get, and why no other choice is faster.
namespace coppice::schedule {

struct PlacementQuestion {
  Collective collective = Collective::allgather;  ///< allgather, reduce_scatter, allreduce or alltoall
  int size = 0;                                   ///< k, at least 2
  std::vector<bool> isFree;                       ///< by rank
  bool relays = false;                            ///< GPUs that are not chosen pass data on; else nothing passes them
};

/// What s members of a job of k on one side of a cut send across it, for algbw 1: each moves data of its own (s / k of
/// the whole), or of all that are not on its side, or both (an allreduce: once the whole, either way), or 1 / k to each
/// on the other side. No collective can do with less, so that with out(A) the links out of a set A of nodes
///
///     algbw <= out(A) / demand(members in A),
///
/// whichever they are. Sets of nodes of which each two are disjoint, or one holds the other, form a tree; how many
/// members each of them gets then decides all of these bounds, and the best numbers give a bound for every choice.
///
/// Of an allreduce, the tree that sums and the tree that copies join any p disjoint sets with all members by p - 1 paths
/// each, and no relay sums or copies, so that
///
///     algbw <= in(all p sets together) / (2 p - 2).
///
/// Sets of one height in the tree are such: single GPUs, boxes, and so on. More of them than the members need, or
/// others than those with the most links, only lower the bound.
struct PlacementRegion {
  std::vector<fabric::NodeIndex> nodes;  ///< ascending
  int parent = -1;                       ///< the smallest region around it, behind it in the list; -1 = none
};

}  // namespace coppice::schedule
