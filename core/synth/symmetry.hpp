// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "synth/problem.hpp"

namespace coppice::synth {

/// A renaming of the ranks under which the problem stays the same, with what it does to arcs, limits, classes, groups.
struct Symmetry {
  std::vector<int> node;
  std::vector<int> arc;
  std::vector<int> limit;
  std::vector<int> chunkClass;
  std::vector<int> group;
};

/// The symmetry that a renaming of ranks gives; nullopt where it is none. Arcs between the same two ranks keep their
/// order, so symmetries that permute parallel routes otherwise are not found.
[[nodiscard]] std::optional<Symmetry> symmetryOf(const Problem& problem, const std::vector<int>& ranks);

/// Symmetries that generate all (core/symmetry), but for those that permute parallel routes; none = only the identity.
/// Everything that uses them holds for any set of symmetries. Throws CancelledError.
[[nodiscard]] std::vector<Symmetry> generators(const Problem& problem, const Progress& progress);

/// Groups of symmetries of which none but the identity fixes a rank, each with all its elements, the largest first:
/// XOR and rotations of the ranks where they are symmetries, and groups of core/symmetry. Throws CancelledError.
[[nodiscard]] std::vector<std::vector<Symmetry>> freeGroups(const Problem& problem, const Progress& progress);

}  // namespace coppice::synth
