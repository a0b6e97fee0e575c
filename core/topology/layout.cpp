// SPDX-License-Identifier: Apache-2.0
#include "topology/layout.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace coppice::topology {
namespace {

constexpr double kPitch = 120;

/// Neighbours on the circle are a pitch apart; node 0 is at the top, numbers run clockwise.
std::vector<fabric::Position> circle(int nodes) {
  std::vector<fabric::Position> places;
  const double radius = std::max(kPitch, kPitch * nodes / (2 * std::numbers::pi));
  for (int v = 0; v < nodes; ++v) {
    const double angle = 2 * std::numbers::pi * v / nodes - std::numbers::pi / 2;
    // Whole scene units, so that files are the same on every machine.
    places.push_back({std::round(radius * std::cos(angle)), std::round(radius * std::sin(angle))});
  }
  return places;
}

/// The last side runs along x, the one before along y, and so on by turns, each pair of dimensions on a wider pitch.
std::vector<fabric::Position> lattice(const std::vector<int>& sides, int nodes) {
  std::vector<double> stepX(sides.size(), 0);
  std::vector<double> stepY(sides.size(), 0);
  double x = kPitch;
  double y = kPitch;
  for (std::size_t i = sides.size(); i-- > 0;) {
    const bool isAlongX = (sides.size() - 1 - i) % 2 == 0;
    (isAlongX ? stepX[i] : stepY[i]) = isAlongX ? x : y;
    (isAlongX ? x : y) *= sides[i] + 0.5;
  }
  std::vector<fabric::Position> places;
  for (int v = 0; v < nodes; ++v) {
    fabric::Position place;
    int rest = v;
    for (std::size_t i = sides.size(); i-- > 0;) {
      place.x += stepX[i] * (rest % sides[i]);
      place.y += stepY[i] * (rest % sides[i]);
      rest /= sides[i];
    }
    places.push_back({std::round(place.x), std::round(place.y)});
  }
  return places;
}

}  // namespace

std::vector<fabric::Position> positions(const Digraph& graph) {
  std::int64_t cells = 1;
  for (const int side : graph.grid) {
    cells *= side;
  }
  return !graph.grid.empty() && cells == graph.nodes ? lattice(graph.grid, graph.nodes) : circle(graph.nodes);
}

}  // namespace coppice::topology
