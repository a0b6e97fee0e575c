// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <random>
#include <set>

#include "designer/document/arrangement_parts.hpp"
#include "topology/symmetric_layout.hpp"

namespace coppice::designer::arrangement {
namespace {

constexpr double kPitch = 100;
constexpr double kOpenPitch = 140;
constexpr double kShape = 56;
constexpr std::size_t kMaxDimensions = 12;
constexpr int kMaxOnCircle = 48;
constexpr int kMaxAnnealed = 48;
constexpr int kMaxLayered = 216;  // of a three-dimensional grid drawn as layers behind each other
constexpr int kMaxRotated = 512;
constexpr double kLane = 7;

using Links = std::vector<std::pair<int, int>>;

std::vector<QPointF> onCircle(int count, double radius, double turn) {
  std::vector<QPointF> places;
  for (int i = 0; i < count; ++i) {
    const double angle = 2 * std::numbers::pi * (i + turn) / count;
    places.emplace_back(std::round(radius * std::sin(angle)), std::round(-radius * std::cos(angle)));
  }
  return places;
}

/// Along a closed way over a grid of two or more rows: neighbours in the order are neighbours in place.
std::vector<QPointF> onTrack(int count, double pitch) {
  std::vector<QPointF> places;
  if (count <= 24) {
    const int top = (count + 1) / 2;
    for (int i = 0; i < count; ++i) {
      places.emplace_back(i < top ? i * pitch : (count - 1 - i) * pitch, i < top ? 0 : pitch * 1.2);
    }
    return places;
  }
  // Down the first column and back up in turns over the others: rows in even number.
  int columns = std::max(3, static_cast<int>(std::ceil(std::sqrt(count * 1.6))));
  int rows = (count + columns - 1) / columns;
  rows += rows % 2;
  columns = (count + rows - 1) / rows;
  // The way visits row 0 from column 1 on, row 1 back, …, and returns along column 0. What is too much is cut out of
  // the last turns in pairs, so that the way stays closed but for one longer step.
  std::vector<std::pair<int, int>> cells;
  for (int row = 0; row < rows; ++row) {
    for (int i = 1; i < columns; ++i) {
      cells.emplace_back(row % 2 == 0 ? i : columns - i, row);
    }
  }
  for (int row = rows - 1; row >= 0; --row) {
    cells.emplace_back(0, row);
  }
  int spare = static_cast<int>(cells.size()) - count;
  for (int row = rows - 2; row >= 0 && spare > 0; row -= 2) {
    for (int column = columns - 1; column > 1 && spare > 0; --column) {
      const auto cut = [&](int r) {
        const auto at = std::find(cells.begin(), cells.end(), std::pair{column, r});
        if (at != cells.end() && spare > 0) {
          cells.erase(at);
          --spare;
        }
      };
      cut(row);
      cut(row + 1);
    }
  }
  for (const auto& [column, row] : cells) {
    places.emplace_back(column * pitch, row * pitch);
  }
  return places;
}

/// Degree at most two and in one piece: the order along it; closed or open. Empty if it is neither.
std::vector<int> ringOrder(int count, const Links& links, bool* isClosed) {
  std::vector<std::vector<int>> next(count);
  for (const auto& [a, b] : links) {
    next[a].push_back(b);
    next[b].push_back(a);
  }
  int start = 0;
  for (int i = 0; i < count; ++i) {
    const std::size_t degree = next[i].size();
    if (degree > 2 || degree == 0) {
      return {};
    }
    start = degree == 1 && next[start].size() != 1 ? i : start;
  }
  *isClosed = next[start].size() == 2;
  std::vector<int> order{start};
  int last = -1;
  for (int at = start;;) {
    int go = -1;
    for (const int other : next[at]) {
      if (other != last && (go < 0 || (last < 0 && other < go))) {
        go = other;
      }
    }
    if (go < 0 || go == start || static_cast<int>(order.size()) > count) {
      break;
    }
    last = at;
    at = go;
    order.push_back(at);
  }
  return static_cast<int>(order.size()) == count ? order : std::vector<int>();
}

bool matchesLattice(int count, const std::set<std::pair<int, int>>& links, const std::vector<int>& sides) {
  // Along each dimension every line is open, or every line is closed.
  std::size_t expected = 0;
  int stride = 1;
  for (std::size_t level = sides.size(); level-- > 0;) {
    const int side = sides[level];
    const bool isClosed = side > 2 && links.contains({0, stride * (side - 1)});
    for (int i = 0; i < count; ++i) {
      const int coordinate = i / stride % side;
      if (coordinate + 1 < side) {
        if (!links.contains({i, i + stride})) {
          return false;
        }
        ++expected;
      } else if (isClosed) {
        if (!links.contains({i - coordinate * stride, i})) {
          return false;
        }
        ++expected;
      }
    }
    stride *= side;
  }
  return expected == links.size();
}

/// Ordered factors of `rest`, `parts` of them, tried until one fits.
bool findSides(int count, const std::set<std::pair<int, int>>& links, int rest, std::size_t parts,
               std::vector<int>& sides) {
  if (parts == 1) {
    if (rest < 2) {
      return false;
    }
    sides.push_back(rest);
    if (matchesLattice(count, links, sides)) {
      return true;
    }
    sides.pop_back();
    return false;
  }
  for (int side = 2; side * 2 <= rest; ++side) {
    if (rest % side == 0) {
      sides.push_back(side);
      if (findSides(count, links, rest / side, parts - 1, sides)) {
        return true;
      }
      sides.pop_back();
    }
  }
  return false;
}

std::vector<QPointF> onLattice(int count, const std::vector<int>& sides) {
  std::vector<QPointF> places(count);
  const std::size_t k = sides.size();
  std::vector<int> stride(k, 1);
  for (std::size_t d = k - 1; d-- > 0;) {
    stride[d] = stride[d + 1] * sides[d + 1];
  }
  const auto coordinate = [&](int i, std::size_t d) { return i / stride[d] % sides[d]; };
  constexpr int kMaxDeep = 6;
  constexpr int kMaxWide = 16;
  const auto deep = static_cast<std::size_t>(std::min_element(sides.begin(), sides.end()) - sides.begin());
  if (k == 3 && count <= kMaxLayered && sides[deep] <= kMaxDeep &&
      *std::max_element(sides.begin(), sides.end()) <= kMaxWide) {
    // The shortest dimension as layers behind each other, each a little to the right and down: a row meets nothing but
    // itself.
    const std::size_t down = deep == 0 ? 1 : 0;
    const std::size_t across = deep == 2 ? 1 : 2;
    const double aside = kShape + 24;
    const double step = aside * sides[deep] + (sides[deep] == 2 ? 40 : 0);
    for (int i = 0; i < count; ++i) {
      places[i] = {step * coordinate(i, across) + aside * coordinate(i, deep),
                   step * coordinate(i, down) + aside * coordinate(i, deep)};
    }
    return places;
  }
  // Dimensions alternate between x and y from the last on. Links that pass over nodes of their row or column run in the
  // lanes beside it; this many lanes have to be left.
  std::vector<double> lanes(2, 0);
  for (const bool isX : {true, false}) {
    int extent = 1;
    for (std::size_t level = 0; level < k; ++level) {
      const std::size_t d = k - 1 - level;
      if ((level % 2 == 0) == isX) {
        if (extent > 1) {
          lanes[isX ? 0 : 1] += extent;
        }
        if (sides[d] > 2) {
          lanes[isX ? 0 : 1] += extent;
        }
        extent *= sides[d];
      }
    }
  }
  const double pitchX = kPitch + (lanes[1] > 3 ? kLane * (lanes[1] - 3) : 0);
  const double pitchY = kPitch + (lanes[0] > 3 ? kLane * (lanes[0] - 3) : 0);
  double stepX = pitchX;
  double stepY = pitchY;
  for (std::size_t level = 0; level < k; ++level) {
    const std::size_t d = k - 1 - level;
    const bool isX = level % 2 == 0;
    const double step = isX ? stepX : stepY;
    for (int i = 0; i < count; ++i) {
      QPointF& place = places[i];
      (isX ? place.rx() : place.ry()) += step * coordinate(i, d);
    }
    (isX ? stepX : stepY) = step * sides[d] + kPitch * 0.4;
  }
  return places;
}

QPointF rounded(const topology::Spot& spot) {
  return {std::round(spot.x), std::round(spot.y)};
}

/// Three or more dimensions whose lines are all closed: polygons in polygons. Empty if it is not so, or too wide.
std::vector<QPointF> nested(const Links& links, const std::vector<int>& sides) {
  constexpr std::size_t kFlat = 2;
  const std::set<std::pair<int, int>> all(links.begin(), links.end());
  int stride = 1;
  for (std::size_t d = sides.size(); d-- > 0;) {
    if (sides[d] > 2 && !all.contains({0, stride * (sides[d] - 1)})) {
      return {};
    }
    stride *= sides[d];
  }
  std::vector<QPointF> places;
  if (sides.size() > kFlat) {
    if (const auto spots = topology::nestedPolygons(sides, {.pitch = kPitch})) {
      for (const topology::Spot& spot : *spots) {
        places.push_back(rounded(spot));
      }
    }
  }
  return places;
}

/// Circulants and their like: on circles, by the rotation that maps links to links. Empty if there is none of few
/// orbits.
std::vector<QPointF> rotated(int count, const Links& links) {
  std::vector<QPointF> places;
  constexpr int kMin = 9;
  if (count < kMin || count > kMaxRotated) {
    return places;
  }
  std::vector<std::pair<int, int>> arcs;
  for (const auto& [a, b] : links) {
    arcs.emplace_back(a, b);
    arcs.emplace_back(b, a);
  }
  const topology::Rows rows = topology::rowsOf(count, arcs);
  constexpr int kMaxOrbits = 5;
  if (topology::rotationOf(rows).order * kMaxOrbits >= count) {
    for (const topology::Spot& spot : topology::onCircles(rows, {.pitch = kPitch * 1.2})) {
      places.push_back(rounded(spot));
    }
  }
  return places;
}

/// Two halves with every link between them, and nearly all of those: a row each. Empty if it is not so.
std::vector<QPointF> inTwoRows(int count, const Links& links) {
  std::vector<int> side(count, -1);
  std::vector<std::vector<int>> next(count);
  for (const auto& [a, b] : links) {
    next[a].push_back(b);
    next[b].push_back(a);
  }
  std::vector<int> open{0};
  side[0] = 0;
  for (std::size_t i = 0; i < open.size(); ++i) {
    for (const int other : next[open[i]]) {
      int& s = side[other];
      if (s < 0) {
        s = 1 - side[open[i]];
        open.push_back(other);
      } else if (s == side[open[i]]) {
        return {};
      }
    }
  }
  const auto second = std::count(side.begin(), side.end(), 1);
  const auto first = count - second;
  if (static_cast<int>(open.size()) != count ||
      static_cast<double>(links.size()) < 0.8 * static_cast<double>(first * second)) {
    return {};
  }
  std::vector<QPointF> places(count);
  const double width = kPitch * static_cast<double>(std::max(first, second));
  double at[2] = {0, 0};
  for (int i = 0; i < count; ++i) {
    const auto s = static_cast<std::size_t>(side[i]);
    const double step = width / static_cast<double>(s == 0 ? first : second);
    places[i] = {std::round(step * (at[s]++ + 0.5)), s == 0 ? 0 : 120 + 0.15 * width};
  }
  return places;
}

/// On the cells of a grid: short links, few of them through other nodes. Simulated annealing with a fixed seed.
std::vector<QPointF> annealed(int count, const Links& links, double pitch, const Progress& progress) {
  const int columns = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(count))));
  const int rows = (count + columns - 1) / columns;
  const int cells = columns * rows;
  std::vector<int> cellOf(count);
  std::vector<int> nodeAt(cells, -1);
  for (int i = 0; i < count; ++i) {
    cellOf[i] = i;
    nodeAt[i] = i;
  }
  std::vector<std::vector<int>> next(count);
  for (const auto& [a, b] : links) {
    next[a].push_back(b);
    next[b].push_back(a);
  }
  const auto cost = [&](int a, int b) {
    const int ca = cellOf[a];
    const int cb = cellOf[b];
    const int dx = cb % columns - ca % columns;
    const int dy = cb / columns - ca / columns;
    double sum = dx * dx + dy * dy;
    const int parts = std::gcd(std::abs(dx), std::abs(dy));
    for (int i = 1; i < parts; ++i) {
      const int x = ca % columns + dx / parts * i;
      const int y = ca / columns + dy / parts * i;
      if (nodeAt[y * columns + x] >= 0) {
        // Over the rim a bow finds its way; inside it does not.
        const bool isRim = (dy == 0 && (y == 0 || y == rows - 1)) || (dx == 0 && (x == 0 || x == columns - 1));
        sum += isRim ? 3 : 14;
      }
    }
    return sum;
  };
  const auto around = [&](int node) {
    double sum = 0;
    for (const int other : next[node]) {
      sum += cost(node, other);
    }
    return sum;
  };
  const auto total = [&] {
    double sum = 0;
    for (const auto& [a, b] : links) {
      sum += cost(a, b);
    }
    return sum;
  };
  std::mt19937 random(20240229);
  const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  const int steps = 400 * count;
  std::vector<int> best = cellOf;
  double now = total();
  double min = now;
  double heat = 12;
  for (int step = 0; step < steps; ++step, heat *= std::pow(0.05 / 12, 1.0 / steps)) {
    if (step % 4096 == 0) {
      throwIfCancelled(progress);
    }
    const int ca = draw(cells);
    const int cb = draw(cells);
    const int a = nodeAt[ca];
    const int b = nodeAt[cb];
    if (ca == cb || (a < 0 && b < 0)) {
      continue;
    }
    const auto put = [&](int node, int cell) {
      nodeAt[cell] = node;
      if (node >= 0) {
        cellOf[node] = cell;
      }
    };
    const double before = (a >= 0 ? around(a) : 0) + (b >= 0 ? around(b) : 0);
    put(a, cb);
    put(b, ca);
    const double after = (a >= 0 ? around(a) : 0) + (b >= 0 ? around(b) : 0);
    const double worse = after - before;
    if (worse > 0 && std::exp(-worse / heat) * 4294967296.0 < static_cast<double>(random())) {
      put(a, ca);
      put(b, cb);
      continue;
    }
    if (worse != 0) {
      now = total();
      if (now < min) {
        min = now;
        best = cellOf;
      }
    }
  }
  std::vector<QPointF> places;
  for (const int cell : best) {
    places.emplace_back(cell % columns * pitch, cell / columns * pitch);
  }
  return places;
}

}  // namespace

std::vector<int> latticeSides(int count, const std::vector<std::pair<int, int>>& links) {
  const std::set<std::pair<int, int>> all(links.begin(), links.end());
  // A grid of k dimensions has about k links to a node at most.
  for (std::size_t parts = 2; parts <= kMaxDimensions && (1 << parts) <= count; ++parts) {
    if (links.size() > static_cast<std::size_t>(count) * parts) {
      continue;
    }
    std::vector<int> sides;
    if (findSides(count, all, count, parts, sides)) {
      return sides;
    }
  }
  return {};
}

std::vector<QPointF> meshPlaces(int count, const std::vector<std::pair<int, int>>& links, bool isOpen,
                                const Progress& progress) {
  const double pitch = isOpen ? kOpenPitch : kPitch * 1.2;
  if (count <= 2) {
    std::vector<QPointF> places;
    for (int i = 0; i < count; ++i) {
      places.emplace_back(i * pitch, 0);
    }
    return places;
  }
  bool isClosed = false;
  if (const std::vector<int> order = ringOrder(count, links, &isClosed); !order.empty()) {
    std::vector<QPointF> along;
    if (!isClosed) {
      for (int i = 0; i < count; ++i) {
        along.emplace_back(i * kPitch, 0);
      }
      if (count > 16) {
        along = onTrack(count, kPitch);
      }
    } else if (!isOpen && count <= kMaxOnCircle) {
      along = onCircle(count, std::max(kPitch, kPitch / (2 * std::sin(std::numbers::pi / count))), 0);
    } else {
      along = onTrack(count, isOpen ? pitch : kPitch);
    }
    std::vector<QPointF> places(count);
    for (std::size_t i = 0; i < order.size(); ++i) {
      places[order[i]] = along[i];
    }
    return places;
  }
  if (const std::vector<int> sides = latticeSides(count, links); !sides.empty()) {
    std::vector<QPointF> places = isOpen ? std::vector<QPointF>() : nested(links, sides);
    return places.empty() ? onLattice(count, sides) : places;
  }
  if (std::vector<QPointF> places = inTwoRows(count, links); !places.empty()) {
    return places;
  }
  const auto max = static_cast<std::size_t>(count) * static_cast<std::size_t>(count - 1) / 2;
  const bool isClique = static_cast<double>(links.size()) > 0.7 * static_cast<double>(max);
  if (!isOpen && !isClique) {
    if (std::vector<QPointF> places = rotated(count, links); !places.empty()) {
      return places;
    }
  }
  if (count <= 8 || (isClique && count <= kMaxOnCircle)) {
    // Far enough out that the chord past one neighbour clears it, up to where a bow is the better way.
    const double clearance = 44 / (1 - std::cos(2 * std::numbers::pi / count));
    const double touching = kPitch / (2 * std::sin(std::numbers::pi / count));
    return onCircle(count, std::max(touching, std::min(clearance, touching * 2.2)), 0.5);
  }
  if (count <= kMaxAnnealed) {
    return annealed(count, links, pitch, progress);
  }
  std::vector<QPointF> places;
  const int columns = static_cast<int>(std::ceil(std::sqrt(1.6 * count)));
  for (int i = 0; i < count; ++i) {
    places.emplace_back(i % columns * pitch, i / columns * pitch);
  }
  return places;
}

}  // namespace coppice::designer::arrangement
