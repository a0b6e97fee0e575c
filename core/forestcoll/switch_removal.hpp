// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/network.hpp"

namespace coppice::forestcoll {

/// Capacity with exactly one physical route. The input arcs are the first atoms; splitting takes capacity from an atom
/// into a switch and an atom out of it and creates a child, whose route is the two parents' routes joined.
struct Atom {
  int tail = 0;
  int head = 0;
  std::int64_t capacity = 0;  ///< trees; 0 = used up
  int first = -1;             ///< parent atoms; -1 for an input arc
  int second = -1;
};

/// The direct-connect logical topology G* of Algorithm 3 with its routes.
struct LogicalTopology {
  std::vector<Atom> atoms;  ///< those with capacity > 0 join GPUs only
};

struct SplitOptions {
  /// Skip the structured guesses and split pair by pair with the exact amount of Theorem 28 (tests use it).
  bool pairwiseOnly = false;
  /// Guess in multiples of the trees per root where they fit: often fewer and thicker trees, sometimes higher ones.
  bool roundToTreesPerRoot = false;
};

/// Switch node removal (Algorithm 3, Theorems 26-28), many switches at once: a complete splitting of several switches
/// is guessed from the known tight cuts, applied, and verified by one feasibility pass; where a guess fails the exact
/// pairwise amount gamma takes over.
/// @pre capacities are feasible for the supplies and balanced at every switch (GPUs may be unbalanced: the splitting
/// theorem of Bang-Jensen, Frank and Jackson needs balance only outside the terminal set).
/// Throws Failure (internal, if the precondition is broken), CancelledError.
[[nodiscard]] LogicalTopology removeSwitches(const Network& network, const std::vector<TreeArc>& capacities,
                                             const std::vector<std::int64_t>& supply, const Progress& progress,
                                             const SplitOptions& options = {});

/// Physical routes of atoms: nodes from tail to head, with detours (a switch visited twice) cut short. Path recovery of
/// B.5.2, iteratively. Keeps its memory from one route to the next.
class RouteReader {
public:
  /// @pre the atoms outlive the reader
  explicit RouteReader(const std::vector<Atom>& atoms) : m_atoms(atoms) {}

  /// Valid until the next call.
  [[nodiscard]] const std::vector<int>& of(int atom);

private:
  const std::vector<Atom>& m_atoms;
  std::vector<int> m_nodes;
  std::vector<int> m_stack;
};

/// One route alone.
[[nodiscard]] std::vector<int> route(const std::vector<Atom>& atoms, int atom);

}  // namespace coppice::forestcoll
