// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "synth/problem.hpp"
#include "synth/symmetry.hpp"

/// Fabrics that fall into equal boxes, and what follows for problems that are too large for a search over all ranks.
namespace coppice::synth {

struct Boxes {
  std::vector<std::vector<int>> members;  ///< by box: ranks; ranks of one place correspond
  std::vector<int> boxOf;                 ///< by rank
  std::vector<int> placeOf;               ///< by rank, in its box
  /// Renamings of the ranks, box by box with places kept, that are symmetries of the topology. Their products take each
  /// box to each other, in one way.
  std::vector<std::vector<int>> moves;

  [[nodiscard]] int count() const { return static_cast<int>(members.size()); }
  [[nodiscard]] int size() const { return static_cast<int>(members.front().size()); }
};

/// The boxes that the fabric names, or else blocks of equally many ranks in order with faster links within: at least
/// two of at least two ranks, which reach each other directly, and where renaming each box to the next is a symmetry of
/// the topology. nullopt where there are none.
[[nodiscard]] std::optional<Boxes> equalBoxes(const Topology& topology);

/// The topology with these arcs alone, and what limits them. @param kept ascending @param renamed by rank: its number
/// in the result, which has `nodes` ranks
[[nodiscard]] Topology withArcs(const Topology& topology, std::span<const int> kept, std::span<const int> renamed,
                                int nodes);

/// The same problem on fewer arcs: those within boxes, and across boxes those between ranks of one place. Its solutions
/// solve the whole one; that it has none proves nothing.
struct NarrowProblem {
  Problem problem;
  std::vector<int> arcs;  ///< of the whole problem, by arc of this one
};
/// nullopt where that leaves out less than half of those across, or a destination is not reached. @pre the boxes are
/// those of the problem's topology
[[nodiscard]] std::optional<NarrowProblem> narrowed(const Problem& problem, const Boxes& boxes);

/// One complete group of symmetries of which none but the identity fixes a rank: rotations of boxes with those of
/// places, rows and columns, as long as they fit together. Empty where there are none. Throws CancelledError.
[[nodiscard]] std::vector<Symmetry> freeGroupByBoxes(const Problem& problem, const std::optional<Boxes>& boxes,
                                                     const Progress& progress);

/// All products of free symmetries that commute or not, the identity first; empty where one fixes a rank, or there are
/// more than ranks.
[[nodiscard]] std::vector<Symmetry> freeProducts(std::span<const Symmetry> generators);

}  // namespace coppice::synth
