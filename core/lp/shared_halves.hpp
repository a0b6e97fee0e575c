// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "lp/cut_finder.hpp"
#include "lp/program_support.hpp"

namespace coppice::lp {

/// In-trees and out-trees that share the links, some of which stay. Half 0 are in-trees, half 1 out-trees.
struct HalvesProblem {
  struct Half {
    std::vector<std::int64_t> load;    ///< by arc: of the trees that stay, balanced at relays
    std::vector<std::int64_t> supply;  ///< by node: trees that root there and are still to be made
  };
  int nodeCount = 0;
  std::vector<bool> isGpu;               ///< per node
  std::vector<ArcEnds> arcs;             ///< at most one per ordered pair
  std::vector<std::int64_t> capacities;  ///< by arc, > 0
  std::array<Half, 2> halves;
};

struct HalvesShares {
  Rational time;  ///< trees per unit of capacity, all halves together
  /// By half and arc: trees on the arc / denominator, those that stay included; balanced at relays.
  std::array<std::vector<std::int64_t>, 2> trees;
  std::int64_t denominator = 1;
};

/// Let y_h(e) be the trees of half h on the arc e, L_h(e) those that stay, s_h(v) the trees that are still to be made
/// of the root v, and S_h their sum. The least t with
///
///   y_0(e) + y_1(e) <= t b(e),  y_h(e) >= L_h(e),  in = out of y_h at every relay, and
///   y_1(in Q) - L_1(in Q) >= S_1 - s_1(Q) for every node set Q that holds a GPU (half 0: out of Q).
///
/// Then trees of both halves exist beside those that stay, and with a lower t they do not (Theorems 26 and 30, for each
/// half by itself). Exact, over a growing list of cuts. nullopt where it is not settled within the budget.
/// @param start a t that is enough. Throws OverflowError, CancelledError.
[[nodiscard]] std::optional<HalvesShares> shareHalves(const HalvesProblem& problem, const Rational& start,
                                                      Milliseconds budget, const Progress& progress = {});

}  // namespace coppice::lp
