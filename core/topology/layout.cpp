// SPDX-License-Identifier: Apache-2.0
#include "topology/layout.hpp"

#include <cmath>
#include <cstdint>
#include <utility>

#include "topology/symmetric_layout.hpp"

namespace coppice::topology {
namespace {

constexpr double kPitch = 120;

Rows rowsOf(const Digraph& graph) {
  std::vector<std::pair<int, int>> arcs;
  arcs.reserve(graph.heads.size());
  for (int v = 0; v < graph.nodes; ++v) {
    for (const int head : graph.out(v)) {
      if (head != v) {
        arcs.emplace_back(v, head);
      }
    }
  }
  return topology::rowsOf(graph.nodes, arcs);
}

/// Whole scene units, so that files are the same on every machine.
std::vector<fabric::Position> rounded(const std::vector<Spot>& spots) {
  std::vector<fabric::Position> places;
  places.reserve(spots.size());
  for (const Spot& spot : spots) {
    places.push_back({std::round(spot.x), std::round(spot.y)});
  }
  return places;
}

/// Each link leads to a neighbour in a line of the grid, whose lines are closed.
bool isTorus(const Digraph& graph) {
  for (int v = 0; v < graph.nodes; ++v) {
    for (const int head : graph.out(v)) {
      int differing = 0;
      bool isNext = true;
      int a = v;
      int b = head;
      for (std::size_t d = graph.grid.size(); d-- > 0;) {
        const int side = graph.grid[d];
        const int step = (b % side - a % side + side) % side;
        differing += step == 0 ? 0 : 1;
        isNext = isNext && (step <= 1 || step == side - 1);
        a /= side;
        b /= side;
      }
      if (differing > 1 || !isNext) {
        return false;
      }
    }
  }
  return true;
}

/// The last side runs along x, the one before along y, and so on by turns, each pair of dimensions on a wider pitch.
std::vector<Spot> lattice(const std::vector<int>& sides, int nodes) {
  std::vector<double> stepX(sides.size(), 0);
  std::vector<double> stepY(sides.size(), 0);
  double x = kPitch;
  double y = kPitch;
  for (std::size_t i = sides.size(); i-- > 0;) {
    const bool isAlongX = (sides.size() - 1 - i) % 2 == 0;
    (isAlongX ? stepX[i] : stepY[i]) = isAlongX ? x : y;
    (isAlongX ? x : y) *= sides[i] + 0.5;
  }
  std::vector<Spot> spots;
  for (int v = 0; v < nodes; ++v) {
    Spot spot;
    int rest = v;
    for (std::size_t i = sides.size(); i-- > 0;) {
      spot.x += stepX[i] * (rest % sides[i]);
      spot.y += stepY[i] * (rest % sides[i]);
      rest /= sides[i];
    }
    spots.push_back(spot);
  }
  return spots;
}

}  // namespace

std::vector<fabric::Position> positions(const Digraph& graph) {
  std::int64_t cells = 1;
  for (const int side : graph.grid) {
    cells *= side;
  }
  if (!graph.grid.empty() && cells == graph.nodes) {
    constexpr std::size_t kFlat = 2;
    if (graph.grid.size() > kFlat && isTorus(graph)) {
      if (const auto spots = nestedPolygons(graph.grid, {})) {
        return rounded(*spots);
      }
    }
    return rounded(lattice(graph.grid, graph.nodes));
  }
  return rounded(onCircles(rowsOf(graph), {.pitch = kPitch}));
}

}  // namespace coppice::topology
