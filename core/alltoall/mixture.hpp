// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "alltoall/network.hpp"
#include "alltoall/symmetry.hpp"
#include "lp/simplex.hpp"

namespace coppice::alltoall {

/// A shortest path tree from a source of the group, as a row of the program.
struct TreeRow {
  int source = 0;  ///< into SymmetryGroup::sources
  std::vector<std::int32_t> arcInto;
  std::vector<std::int64_t> uses;  ///< by orbit of arcs: links of the orbit that its paths take, to all GPUs
};

/// Trees of which routings are mixed.
struct TreeSet {
  const Network& network;
  const SymmetryGroup& group;
  std::span<const std::int64_t> capacity;  ///< C by orbit
  std::vector<TreeRow> rows;

  /// What a tree puts on the links of an orbit when all of its source's orbit use it. Throws OverflowError.
  [[nodiscard]] std::int64_t load(std::size_t row, std::size_t orbit) const {
    return checkedMul(rows[row].uses[orbit], group.sourceWeight[rows[row].source]);
  }
};

/// minimise theta, with sum of y = parts for every source and sum of weight y uses <= theta C for every orbit.
struct MixtureOptions {
  std::int64_t parts = 1;
  std::vector<std::int64_t> min = {};    ///< by tree, its smallest y; empty = 0
  std::vector<std::int64_t> spare = {};  ///< by orbit, what stays free of theta C; empty = 0
  std::vector<double> preferences = {};  ///< by tree, see lp::Column; empty = 0
};
[[nodiscard]] lp::Simplex mixtureProgram(const TreeSet& trees, const MixtureOptions& options);

/// Whole weights of trees, `denominator` for every source.
struct WholeMixture {
  std::vector<TreeRow> rows;
  std::vector<std::int64_t> weights;
  std::int64_t denominator = 1;
};

/// A mixture of trees that reaches the optimum exactly, where the vertices of the program have no common denominator
/// within 64 bits. `trees` are shortest for `lengths` (by orbit), which prove the optimum, theta = sum of distances /
/// sum of C l.
///
/// A mixture in floating point is rounded to whole parts; then the load of an orbit is a few parts off the theta C that
/// every orbit with a length must have (complementary slackness). It is corrected by whole parts: a part moves from a
/// tree to a variant of it, which reaches one node by another link of a shortest path. What such a move changes are
/// small whole numbers, so that a basis of all changes (by integer elimination) gives the correction. The mixture keeps
/// some parts of both trees of every move in the basis, which allows moves in both directions, and leaves some room on
/// the orbits without a length.
///
/// Where other lengths are optimal too, such a mixture may not exist: trees that are not shortest for the others have
/// no part in any, and orbits to which they give a length have no room. The multipliers of the program then are such
/// lengths; the trees are left out, and it starts again.
///
/// Nothing where no correction is found, because the optimal mixtures have too little freedom, or where `stop` ends the
/// search, which hears of the work. The result is checked in whole
/// numbers. Throws OverflowError.
[[nodiscard]] std::optional<WholeMixture> wholeMixture(TreeSet trees, std::span<const std::int64_t> lengths,
                                                       const lp::StopTest& stop);

}  // namespace coppice::alltoall
