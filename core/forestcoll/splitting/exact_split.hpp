// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/network.hpp"

namespace coppice::forestcoll {

/// A neighbour of a switch.
struct Port {
  int node = 0;
  std::int64_t in = 0;   ///< capacity node -> switch
  std::int64_t out = 0;  ///< capacity switch -> node
};

/// Capacity that no longer passes the switch but runs from neighbour to neighbour.
struct Pairing {
  int from = 0;
  int to = 0;
  std::int64_t amount = 0;
};

/// One switch and what surrounds it.
struct SplitProblem {
  const Network& network;
  const std::vector<std::int64_t>& supply;
  std::vector<TreeArc> arcs;  ///< all capacities, parallel ones apart
  int node = 0;               ///< the switch, balanced
  std::vector<Port> ports;    ///< all its neighbours
};

/// The exact step of Algorithm 3: a complete splitting of one switch that keeps all capacities feasible, by the exact
/// amount gamma of Theorem 28 pair by pair. `first` is tried before, and only what is sound of it is kept.
/// Throws Failure (internal, if the capacities were not feasible or the switch not balanced), CancelledError.
[[nodiscard]] std::vector<Pairing> splitExactly(const SplitProblem& problem, const std::vector<Pairing>& first,
                                                const Progress& progress);

}  // namespace coppice::forestcoll
