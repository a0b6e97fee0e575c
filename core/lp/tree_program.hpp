// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "lp/balance.hpp"
#include "lp/cut_finder.hpp"
#include "lp/work_limit.hpp"

namespace coppice::lp {

/// Trees of one direction that share some part of the links. By node: which relays they treat in a special way; GPUs
/// are reached by every tree.
struct TreeLayer {
  bool isIn = false;           ///< in-trees, which sum; otherwise out-trees, which copy
  std::vector<bool> reaches;   ///< relays that every tree reaches, and where it may branch like at a GPU
  std::vector<bool> branches;  ///< relays that may branch although not every tree reaches them: a relaxation
  /// Orbits of the symmetries that keep the layer, each within one of the problem's. The layer then stands for the mean
  /// of its images under the symmetries of the problem. Empty = those of the problem, which keep it.
  std::vector<int> nodeOrbit = {};
  std::vector<int> arcOrbit = {};
};

/// The linear program of App. B.7 with several layers of trees that run at the same time. Layer l has x_l(v) of the
/// data rooted at the GPU v, X_l in all, and c_l of every link:
///
///   in(Q) + x_l(Q) >= X_l for every node set Q that holds a GPU or a relay that l reaches (in-trees: out(Q));
///   in = out at every relay that l neither reaches nor branches at; in <= out (in-trees: in >= out) where it branches;
///   the c_l of a link are at most its bandwidth together.
///
/// Maximise the data that all out-trees carry. Without `branches` trees that do it exist: those of a layer by Edmonds'
/// theorem, once the other relays are split away (Bang-Jensen, Frank and Jackson). With one layer of each direction
/// that branches at all capable switches and reaches none, no trees do better.
struct TreeProblem {
  int nodeCount = 0;
  std::vector<int> gpus;          ///< node of each rank
  std::vector<RateArc> arcs;      ///< at most one per ordered pair
  std::vector<TreeLayer> layers;  ///< at least one
  /// By rank: the data of each root, and all layers have one direction. Empty: an allreduce, whose roots take what
  /// suits them, as much in in-trees as in out-trees.
  std::vector<std::int64_t> amounts = {};
  /// All GPUs root the same in each layer, which makes trees that are lower and easier to find.
  bool hasEvenRoots = false;
  /// The layers are out-trees, and each counts for its mirror image, in-trees over the same links turned round, as
  /// well. Loses nothing where every link has the same bandwidth both ways and no relay can do only one of both.
  bool isMirrored = false;
  /// By arc, between a GPU and a relay: where the layer reaches the relay, out-trees that use the arc from the GPU load
  /// the arc back with as much, and in-trees that use the arc to the GPU that to the relay. Empty = none.
  std::vector<bool> ownCopies = {};
  /// Orbits of a group that keeps GPUs, bandwidths, amounts and what relays can do: by node and by arc the lowest of
  /// its orbit. Solutions are means over the group, which loses nothing. Empty = no symmetry.
  std::vector<int> nodeOrbit = {};
  std::vector<int> arcOrbit = {};
};

enum class BoundStatus {
  exact,       ///< the optimum of the program, proved on both sides
  upperBound,  ///< no solution is better (proved); whether it is reached is open
  notComputed  ///< too large, or the budget of work ended before any useful bound
};

/// A solution of one layer, as whole numbers over the answer's denominator, in GB/s: all that it carries on its own
/// relays, although its images share it.
struct LayerShares {
  std::vector<std::int64_t> roots;       ///< x by rank
  std::vector<std::int64_t> bandwidths;  ///< c by arc
};

/// What proves a rate where there is at most one layer of each direction: a solution of the dual. Of a mirrored
/// problem, that of the in-trees is its mirror image. Conditions and signs: schedule/tree_bound.hpp.
struct TreeDual {
  struct Cut {
    NodeSet nodes;
    bool isIn = false;
    Rational weight;  ///< > 0; each cut is the mean of its images
  };
  std::vector<Rational> linkPrice;     ///< by arc
  std::vector<Rational> outPotential;  ///< by node
  std::vector<Rational> inPotential;
  std::vector<Cut> cuts;
};

struct TreeRates {
  BoundStatus status = BoundStatus::notComputed;
  Bandwidth rate = {};  ///< all data by the time; 0 when notComputed
  int cuts = 0;
  std::string reason = {};  ///< for a person
  std::int64_t denominator = 1;
  std::vector<LayerShares> layers = {};  ///< when exact
  std::optional<TreeDual> dual = {};     ///< of `rate`, where its numbers fit
};

struct TreeProgramOptions {
  /// A rate that is known to be reached: a proof that nothing is above it ends the search. Then there are no shares.
  std::optional<Bandwidth> known = {};
  Milliseconds budget = Milliseconds(5000);
};

/// Solves the program exactly, over a growing list of cuts. Errors: internal (the known rate is above the bound).
/// Throws OverflowError, CancelledError.
Result<TreeRates> solveTreeProgram(const TreeProblem& problem, const TreeProgramOptions& options = {},
                                   const Progress& progress = {});

}  // namespace coppice::lp
