// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/progress.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "lp/tree_program.hpp"
#include "schedule/tree_bound.hpp"
#include "symmetry/digraph.hpp"

/// Collectives by trees on switches that copy (multicast) and sum (aggregation), such as NVLink SHARP and SHARP.
///
/// A tree passes a capable switch as a relay, like any other switch, or reaches it like a GPU and may branch there. The
/// set of switches that a tree reaches is its KIND. Trees of several kinds, in both directions, share the links
/// (lp/tree_program.hpp). Bound: one layer of each direction in which every capable switch may branch freely. Reached:
/// the best mixture of a few kinds. Where both are equal, as on all fabrics that we know, the mixture is optimal.
namespace coppice::forestcoll {

/// What is asked of the trees.
struct TreeDemand {
  Collective collective = Collective::allreduce;  ///< allreduce, allgather or reduce_scatter
  std::vector<std::int64_t> amounts = {};         ///< by rank; empty = equal. Not for allreduce.
  bool plainSwitches = false;                     ///< no switch copies or sums
  bool ownCopies = false;                         ///< Schedule::ownCopies; the bound does not depend on it
  std::chrono::milliseconds budget = std::chrono::milliseconds(5000);  ///< of each program, see lp::Milliseconds
};

/// Trees of one kind and direction, and of the kinds that are equal to it.
struct TreeShare {
  bool isIn = false;
  std::vector<bool> reaches;             ///< by node: the relays of the kind
  std::vector<std::int64_t> roots;       ///< by rank
  std::vector<std::int64_t> bandwidths;  ///< by arc
  /// Symmetries of the fabric, by node, that take the kind to each equal one, the identity first. Each image takes the
  /// same part of the trees.
  std::vector<symmetry::Permutation> images;
};

/// Shares of the links, as whole numbers over one denominator in GB/s. Trees exist within them.
struct TreeMixture {
  Bandwidth algbw;
  std::int64_t denominator = 1;
  bool isMirrored = false;  ///< out-trees alone are listed; in-trees are their mirror images
  std::vector<TreeShare> kinds;
};

struct TreeBound {
  lp::BoundStatus status = lp::BoundStatus::notComputed;
  Bandwidth algbw;          ///< no trees do better (exact, upperBound)
  std::string reason = {};  ///< for a person
  std::optional<schedule::TreeBoundProof> proof = {};
  std::optional<TreeMixture> mixture = {};  ///< that reaches it, where it takes no search: no switch is capable
};

/// A fabric as the program of trees sees it.
struct TreeGraph {
  int nodeCount = 0;
  std::vector<int> kindOf;         ///< by node: symmetries keep it
  std::vector<std::string> boxOf;  ///< by node: where equal parts are looked for
  std::vector<bool> copies;        ///< by node: relays that multicast
  std::vector<bool> sums;          ///< by node: relays that aggregate
  std::vector<int> gpus;           ///< by rank
  std::vector<lp::RateArc> arcs;   ///< at most one per ordered pair; a bandwidth may be 0
};
[[nodiscard]] TreeGraph treeGraph(const fabric::Fabric& fabric);
/// By node: relays that may branch in trees of a direction.
[[nodiscard]] std::vector<bool> branching(const TreeGraph& graph, const TreeDemand& demand, bool isIn);
/// An allreduce whose in-trees may be taken as the mirror images of the out-trees: links and switches do the same both
/// ways.
[[nodiscard]] bool isMirrored(const TreeGraph& graph, const TreeDemand& demand);

/// What no trees can beat. `known` is a rate that is reached: where the bound is equal, the search ends early.
/// Throws Failure, OverflowError, CancelledError.
[[nodiscard]] TreeBound treeBound(const fabric::Fabric& fabric, const TreeDemand& demand,
                                  const std::optional<Bandwidth>& known, const Progress& progress);
[[nodiscard]] TreeBound treeBound(const TreeGraph& graph, const TreeDemand& demand,
                                  const std::optional<Bandwidth>& known, const Progress& progress);

/// The best mixture of kinds that the search finds, at most `upper`, which ends it. Kinds: none and all capable
/// switches; then orbits of equal switches, single switches, and all but
/// these; then all sets of few. Equal kinds share the trees evenly, so that one of each is in the program. nullopt
/// where no program was solved within its budget. Throws Failure, OverflowError, CancelledError.
[[nodiscard]] std::optional<TreeMixture> bestMixture(const fabric::Fabric& fabric, const TreeDemand& demand,
                                                     const Bandwidth& upper, const Progress& progress);

}  // namespace coppice::forestcoll
