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

}  // namespace coppice::topology
