// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/rational.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

namespace coppice::schedule {

/// A permutation of the nodes of a fabric: those that it moves, each with its image.
struct NodeMove {
  fabric::NodeIndex from = 0;
  fabric::NodeIndex to = 0;

  friend bool operator==(const NodeMove&, const NodeMove&) = default;
};
using NodeMoves = std::vector<NodeMove>;

/// A node set with the weight of what must enter it (out-trees) or leave it (in-trees).
struct WeightedCut {
  std::vector<fabric::NodeIndex> nodes;  ///< Q, ascending; holds a GPU
  Direction direction = Direction::out;
  Rational weight;  ///< z(Q) > 0

  friend bool operator==(const WeightedCut&, const WeightedCut&) = default;
};

/// Why no schedule by trees is faster on a fabric whose switches may copy and sum: a solution of the dual of the
/// program of App. B.7, by weak duality. All trees share the links at the same time: c of link (u,v) for out-trees and
/// r for in-trees, c + r <= b, with
///
///   in_c(Q) + x(Q) >= X and out_r(Q) + x(Q) >= X for every Q with a GPU, X = sum of x over the GPUs,
///   at a relay w:  in_c(w) = out_c(w), or <= where w multicasts;  out_r(w) = in_r(w), or <= where w aggregates.
///
/// Let the prices y >= 0 of links, the weights z > 0 of cuts and the potentials p (out-trees) and q (in-trees) of
/// relays, 0 at GPUs, p >= 0 where w multicasts, q >= 0 where it aggregates, otherwise free, satisfy
///
///   y(u,v) >= sum of z over the out-cuts that the link enters + p(u) - p(v)
///   y(u,v) >= sum of z over the in-cuts that the link leaves  + q(v) - q(u)
///
/// and, with f(g) the weight of all cuts, of both directions, that do not hold the GPU g:
///
///   allreduce: f(g) >= 1 for every g;  allgather, reduce_scatter: the mean of f, weighted by the data of g, is >= 1.
///
/// Then X <= sum of y * b. An allgather has out-trees alone, a reduce_scatter in-trees alone.
///
/// Weights of cuts are shared by their images: the symmetries generate a group of the fabric (kinds, capabilities and
/// bandwidths), under which y, p and q are constant on orbits, and every cut stands for the mean of its images.
struct TreeBoundProof {
  Bandwidth bound;                  ///< sum of linkPrice * bandwidth
  std::vector<Rational> linkPrice;  ///< y by arc, >= 0
  std::vector<WeightedCut> cuts;
  std::vector<Rational> outPotential;  ///< p by node
  std::vector<Rational> inPotential;   ///< q by node
  std::vector<NodeMoves> symmetries;   ///< generators; none = every cut stands for itself

  friend bool operator==(const TreeBoundProof&, const TreeBoundProof&) = default;
};

}  // namespace coppice::schedule
