// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/collective.hpp"
#include "base/rational.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"

/// Several collectives that run at the same time, each among a group of GPUs, and what proves how fast they can be.
///
/// Group j moves its data at algbw L w_j, the same L for all groups. A communicator uses the links between its own GPUs
/// and relays; GPUs of other groups pass its data on only where the demand says so. Relays forward and do not copy.
/// For any prices p >= 0 of the links
///
///     L <= sum over links of b_e p_e / sum over groups of w_j D_j(p)           (linear programming duality),
///
/// with D_j(p) what the cheapest trees or paths cost that carry one byte of the collective: for allgather the mean over
/// the roots of the cheapest spanning tree, for allreduce the cheapest pair of an in-tree and an out-tree of one root,
/// for alltoall the mean over the sources of the distances to all others. Links with prices are the SHARED CUT: what
/// the groups need across it together is more than it carries, at any larger L.
namespace coppice::schedule {

struct ConcurrentGroup {
  std::vector<fabric::Rank> ranks;  ///< at least two, distinct
  Collective collective = Collective::allgather;
  Rational weight = 1;  ///< > 0: algbw relative to that of other groups
  int root = 0;         ///< of broadcast, reduce, gather and scatter: place in `ranks`
};

struct ConcurrentDemand {
  std::vector<ConcurrentGroup> groups;
  std::vector<bool> relays = {};  ///< by rank: passes on data of groups that it is not in; empty = none
};

/// How a root's data reach the group, or how the group's data reach it. Paths are arcs of the fabric in the direction
/// of the data, from one member to another. Spanning trees have a path for each member but the root; of alltoall,
/// gather and scatter each path leads between the root and a member.
struct ConcurrentTree {
  int group = 0;
  int root = 0;             ///< place in the group's ranks
  std::int64_t weight = 1;  ///< relative to the other trees of the same group and root (allreduce: of any root)
  std::vector<std::vector<std::int32_t>> outPaths = {};  ///< allgather, broadcast, allreduce, alltoall, scatter
  std::vector<std::vector<std::int32_t>> inPaths = {};   ///< reduce_scatter, reduce, allreduce, gather
};

struct ConcurrentProof {
  std::vector<std::int64_t> prices;  ///< by arc
  /// The nodes that each symmetry moves, with their images. They keep the fabric, its prices, the relays and the groups
  /// as a whole. Trees are given for one group and root of those that the symmetries take to each other, and stand for
  /// the mean of all their images.
  std::vector<std::vector<std::pair<fabric::NodeIndex, fabric::NodeIndex>>> symmetries = {};
  std::vector<ConcurrentTree> trees = {};
};

/// What a group may use of one link.
struct LinkShare {
  std::int32_t arc = 0;
  Bandwidth bandwidth;
};
/// By group, its links ascending: each group keeps to its part, so that all can run at the same time.
using LinkShares = std::vector<std::vector<LinkShare>>;

}  // namespace coppice::schedule
