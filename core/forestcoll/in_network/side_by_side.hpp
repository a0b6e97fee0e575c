// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "forestcoll/in_network/tree_columns.hpp"

namespace coppice::forestcoll {

/// A tree of a part in nodes of the fabric, and the rate of all up to it.
struct TreePiece {
  GrownTree tree;
  Rational end;
};

/// The node of the fabric, by number of a node in a part and of the one next to it on a path; -1 = left out.
using NodeOf = std::function<int(int number, int beside)>;

[[nodiscard]] GrownTree inFabric(const GrownTree& tree, const NodeOf& nodeOf);

/// The trees of a packing one after the other, as far as the rate.
[[nodiscard]] std::vector<TreePiece> sequenceOf(const TreePacking& packing, const Rational& rate, const NodeOf& nodeOf);

/// The trees of a packing one after the other over a length, whose ends are rounded to whole numbers.
[[nodiscard]] std::vector<TreePiece> roundedSequence(const TreePacking& packing, std::int64_t length,
                                                     const NodeOf& nodeOf);

/// Trees of the whole and their rates.
using WholeTrees = std::vector<std::pair<GrownTree, Rational>>;

/// The trees of the parts side by side, each time that one of them changes a new tree of the whole.
/// @param sequences by part; each ends at the rate
/// Throws CancelledError.
void addSideBySide(const std::vector<std::vector<TreePiece>>& sequences, int root, const Rational& rate,
                   const Progress& progress, WholeTrees& trees);

/// nullopt without trees. Throws OverflowError.
[[nodiscard]] std::optional<TreePacking> packingOf(WholeTrees trees);

}  // namespace coppice::forestcoll
