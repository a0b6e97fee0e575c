// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "alltoall/network.hpp"
#include "base/progress.hpp"
#include "symmetry/digraph.hpp"

namespace coppice::alltoall {

using symmetry::Permutation;

/// A group of symmetries of a fabric: permutations of the nodes that keep kinds, links and bandwidths. All of them are
/// listed. It need not be the full group: any group makes the linear program smaller and leaves its optimum.
struct SymmetryGroup {
  std::vector<Permutation> elements;  ///< the identity first

  std::vector<int> orbitOfArc;
  int arcOrbits = 0;
  std::vector<fabric::NodeIndex> sources;  ///< one GPU of each orbit
  std::vector<std::int64_t> sourceWeight;  ///< GPUs in that orbit
};

/// Looks for shifts of the ranks (of one digit in a mixed radix) first, then for symmetries that take a GPU to the
/// others of its orbit; keeps those with which the group stays within `maxElements`. Throws CancelledError.
[[nodiscard]] SymmetryGroup findSymmetries(const Network& network, std::size_t maxElements, const Progress& progress);

}  // namespace coppice::alltoall
