// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"

namespace coppice::order {

/// Things at the points of a grid, such as the GPUs of a torus: each is joined to those that differ from it in one
/// coordinate and are joined there.
struct Grid {
  struct Side {
    int length = 0;
    Bandwidth bandwidth;  ///< of a link along it, the largest

    friend bool operator==(const Side&, const Side&) = default;
  };
  std::vector<Side> sides;
  /// By thing: its coordinates. Along a path or a ring they count from one end, or once round it.
  std::vector<std::vector<int>> at;

  /// The number of a point: its last coordinate counts fastest.
  [[nodiscard]] int numberOf(std::span<const int> point) const;
  /// The thing at each point, by its number.
  [[nodiscard]] std::vector<int> things() const;
};

struct GridEdge {
  int a = 0;
  int b = 0;
  Bandwidth bandwidth;
};

/// The prime factors of the graph under the Cartesian product (Feder, 1992: edges belong to one factor by the relations
/// theta, for which one edge of a spanning tree in each pair suffices, and tau). A ring of four is two sides of two.
/// nullopt: one factor that is neither a path nor a ring, a graph that is not connected, or too much work.
/// Throws CancelledError.
[[nodiscard]] std::optional<Grid> gridOf(int things, std::span<const GridEdge> edges, const Progress& progress = {});

/// Of things that a fabric's nodes belong to, by node; -1 = none. Joined by the links between them.
[[nodiscard]] std::optional<Grid> gridOf(const fabric::Fabric& fabric, std::span<const int> thingOf, int things,
                                         const Progress& progress = {});

/// The orders of the sides, as numbers into them, that differ by the sides at each place; at most `max` of them.
[[nodiscard]] std::vector<std::vector<int>> distinctArrangements(const Grid& grid, std::size_t max);

/// Orders of the things by the rule of a curve: row by row there and back, row by row each one on by a place, and
/// Hilbert's curve where all sides have the same power of two.
[[nodiscard]] std::vector<std::vector<int>> curves(const Grid& grid);

/// An order by digits: a rank is a number of several digits, and so is each coordinate.
struct DigitRule {
  struct Digit {
    int side = 0;
    int radix = 0;
    int weight = 0;  ///< in its coordinate
  };
  struct Difference {
    int to = 0;    ///< a digit; or, counted after the digits, a coordinate
    int from = 0;  ///< a digit; of this coordinate itself, it changes nothing
  };
  std::vector<Digit> digits;            ///< the most significant of a rank first
  std::vector<Difference> differences;  ///< of digits, then of coordinates: less the digit, around
};
/// The thing at each rank.
[[nodiscard]] std::vector<int> orderBy(const Grid& grid, const DigitRule& rule);

/// Side by side, and with the sides' digits by turns; either end first; plain, and so that a step changes one digit.
/// @param arePrime sides are divided into prime digits
[[nodiscard]] std::vector<DigitRule> digitRules(const Grid& grid, bool arePrime);

/// Rules that are a small change away: two digits change places, or one more difference is taken. Their number.
[[nodiscard]] std::size_t changesOf(const Grid& grid, const DigitRule& rule);
/// @pre change < changesOf(grid, rule)
[[nodiscard]] DigitRule changed(const Grid& grid, const DigitRule& rule, std::size_t change);

}  // namespace coppice::order
