// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/digraph.hpp"

/// Distance-regular graphs (dissertation, A.6.3 and Table A.2): BFB is bandwidth-optimal on all of them (Theorem 18).
namespace coppice::topology {

/// One graph of the list, built on demand.
struct DistanceRegularEntry {
  std::string name;   ///< "heawood", "pg-3", "odd-4": as presets and constructions name it
  std::string title;  ///< "incidence graph of PG(2,3)"
  int nodes = 0;
  int degree = 0;
  int diameter = 0;
};

/// All that are offered, ascending by (nodes, degree).
[[nodiscard]] std::span<const DistanceRegularEntry> distanceRegularGraphs();
/// Errors: badUsage for an unknown name, listing all.
[[nodiscard]] Result<Digraph> distanceRegular(const std::string& name);

/// {b_0, …, b_(D-1); c_1, …, c_D}: of a node at distance i from any other, how many neighbours are one step farther and
/// one step nearer.
struct IntersectionArray {
  std::vector<int> farther;
  std::vector<int> nearer;
};
/// nullopt where the graph is not distance-regular: some pair of equal distance differs. N^2 d steps.
[[nodiscard]] std::optional<IntersectionArray> intersectionArray(const Digraph& graph);

}  // namespace coppice::topology
