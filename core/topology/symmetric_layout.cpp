// SPDX-License-Identifier: Apache-2.0
#include "topology/symmetric_layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>

namespace coppice::topology {
namespace {

constexpr double kPi = std::numbers::pi;

struct Drawing {
  std::vector<Spot> spots;
  std::vector<std::pair<int, int>> links;
};

double distance(const Spot& a, const Spot& b) {
  return std::hypot(a.x - b.x, a.y - b.y);
}

/// From a point to the segment between two others.
double distance(const Spot& point, const Spot& a, const Spot& b) {
  const double dx = b.x - a.x;
  const double dy = b.y - a.y;
  const double t = std::clamp(((point.x - a.x) * dx + (point.y - a.y) * dy) / (dx * dx + dy * dy), 0.0, 1.0);
  return std::hypot(point.x - a.x - t * dx, point.y - a.y - t * dy);
}

double extentOf(const std::vector<Spot>& spots) {
  const auto [left, right] =
      std::minmax_element(spots.begin(), spots.end(), [](const Spot& a, const Spot& b) { return a.x < b.x; });
  const auto [top, bottom] =
      std::minmax_element(spots.begin(), spots.end(), [](const Spot& a, const Spot& b) { return a.y < b.y; });
  return std::max(right->x - left->x, bottom->y - top->y);
}

/// Between nodes and links that pass them, and `share` of that between two nodes. Gives up below `enough`.
double clearanceOf(const Drawing& drawing, double share, double enough) {
  double min = std::numeric_limits<double>::infinity();
  const int count = static_cast<int>(drawing.spots.size());
  const auto spot = [&](int node) { return drawing.spots[node]; };
  for (int a = 0; a < count && min >= enough; ++a) {
    for (int b = 0; b < a; ++b) {
      min = std::min(min, distance(spot(a), spot(b)) * share);
    }
  }
  for (const auto& [a, b] : drawing.links) {
    if (min < enough) {
      break;
    }
    for (int node = 0; node < count; ++node) {
      if (node != a && node != b) {
        min = std::min(min, distance(spot(node), spot(a), spot(b)));
      }
    }
  }
  return min;
}

/// Corners of a polygon with sides of this length; of 2, the ends of a segment.
std::vector<Spot> polygon(int corners, double side, double turn) {
  const double radius = corners == 2 ? side / 2 : side / (2 * std::sin(kPi / corners));
  std::vector<Spot> spots;
  for (int i = 0; i < corners; ++i) {
    const double angle = turn + 2 * kPi * i / corners;
    spots.push_back({radius * std::cos(angle), radius * std::sin(angle)});
  }
  return spots;
}

/// A copy of `inner` at every corner, and the links between them along the rim.
Drawing copied(const Drawing& inner, const std::vector<Spot>& corners) {
  Drawing result;
  const int each = static_cast<int>(inner.spots.size());
  const int count = static_cast<int>(corners.size());
  for (int corner = 0; corner < count; ++corner) {
    const Spot& at = corners[corner];
    for (const Spot& spot : inner.spots) {
      result.spots.push_back({at.x + spot.x, at.y + spot.y});
    }
    for (const auto& [a, b] : inner.links) {
      result.links.emplace_back(corner * each + a, corner * each + b);
    }
  }
  for (int corner = 0; corner < (count == 2 ? 1 : count); ++corner) {
    for (int i = 0; i < each; ++i) {
      result.links.emplace_back(corner * each + i, (corner + 1) % count * each + i);
    }
  }
  return result;
}

/// Copies at the corners of the polygon whose side and turn leave the most clearance in the least space.
/// @param turn set to that of the polygon
Drawing wrapped(const Drawing& inner, int corners, double pairShare, double& turn) {
  constexpr double kSides[] = {0.35, 0.5, 0.7, 0.85, 1, 1.15, 1.35, 1.6};
  constexpr int kTurns = 18;
  const double period = corners == 2 ? kPi : 2 * kPi / corners;
  const double extent = extentOf(inner.spots);
  if (extent <= 0) {
    turn = 0;
    return copied(inner, polygon(corners, 1, 0));
  }
  Drawing best;
  double max = -1;
  for (const double side : kSides) {
    for (int i = 0; i < kTurns; ++i) {
      const double angle = period * i / kTurns;
      Drawing drawing = copied(inner, polygon(corners, side * extent, angle));
      const double width = extentOf(drawing.spots);
      const double share = clearanceOf(drawing, pairShare, max * width) / width;
      // Rounding must not decide between drawings that are equally good.
      constexpr double kBetter = 1.000001;
      if (share > max * kBetter) {
        max = share;
        turn = angle;
        best = std::move(drawing);
      }
    }
  }
  return best;
}

/// Sides of 2 by pairs become a side of 4. Where each node of the given sides is among those of the new ones.
struct Paired {
  std::vector<int> sides;
  std::vector<int> numbers;
};
Paired paired(std::span<const int> sides) {
  struct Group {
    std::size_t first = 0;
    std::optional<std::size_t> second;
  };
  std::vector<Group> groups;
  std::optional<std::size_t> open;  // a group that waits for another side of 2
  for (std::size_t d = 0; d < sides.size(); ++d) {
    if (sides[d] == 2 && open) {
      groups[*open].second = d;
      open.reset();
      continue;
    }
    if (sides[d] == 2) {
      open = groups.size();
    }
    groups.push_back({d, {}});
  }
  Paired result;
  int count = 1;
  for (const Group& group : groups) {
    result.sides.push_back(group.second ? 4 : sides[group.first]);
    count *= result.sides.back();
  }
  for (int node = 0; node < count; ++node) {
    std::vector<int> coordinates(sides.size());
    int rest = node;
    for (std::size_t d = sides.size(); d-- > 0;) {
      coordinates[d] = rest % sides[d];
      rest /= sides[d];
    }
    int number = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      int at = coordinates[groups[g].first];
      if (groups[g].second) {
        // Round the square: 00, 01, 11, 10.
        constexpr int kCorner[2][2] = {{0, 1}, {3, 2}};
        at = kCorner[at][coordinates[*groups[g].second]];
      }
      number = number * result.sides[g] + at;
    }
    result.numbers.push_back(number);
  }
  return result;
}

void turnBy(std::vector<Spot>& spots, double angle) {
  const double c = std::cos(angle);
  const double s = std::sin(angle);
  for (Spot& spot : spots) {
    spot = {spot.x * c - spot.y * s, spot.x * s + spot.y * c};
  }
}

bool hasArc(const Rows& rows, int from, int to) {
  const std::vector<int>& row = rows[from];
  return std::binary_search(row.begin(), row.end(), to);
}

bool isRotation(const Rows& rows, int block, int shift) {
  const auto moved = [&](int node) { return node / block * block + (node % block + shift) % block; };
  for (int node = 0; node < static_cast<int>(rows.size()); ++node) {
    for (const int head : rows[node]) {
      if (!hasArc(rows, moved(node), moved(head))) {
        return false;
      }
    }
  }
  return true;
}

/// The smallest jump of a circulant that visits all nodes; 1 where there is none.
int minGenerator(const Rows& rows) {
  const int count = static_cast<int>(rows.size());
  for (const int jump : rows.front()) {
    if (jump > 0 && std::gcd(jump, count) == 1) {
      return jump;
    }
  }
  return 1;
}

/// Node `ring[i]` at the i-th of the ring's places.
void place(std::vector<Spot>& spots, const std::vector<int>& ring, double radius, double turn) {
  const auto count = static_cast<double>(ring.size());
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const double angle = 2 * kPi * (static_cast<double>(i) + turn) / count;
    spots[ring[i]] = {radius * std::sin(angle), -radius * std::cos(angle)};
  }
}

/// Successive places are a pitch apart, and a link over one place passes the node there, within reason.
double radiusOf(const Rows& rows, const std::vector<int>& ring, const Clearance& clearance) {
  const auto count = static_cast<double>(ring.size());
  const double touching = std::max(clearance.pitch, clearance.pitch * count / (2 * kPi));
  bool isOver = false;
  for (std::size_t i = 0; i < ring.size() && ring.size() > 4; ++i) {
    const int other = ring[(i + 2) % ring.size()];
    isOver = isOver || hasArc(rows, ring[i], other) || hasArc(rows, other, ring[i]);
  }
  constexpr double kMax = 2.4;
  const double clear = clearance.node / (1 - std::cos(2 * kPi / count));
  return isOver ? std::clamp(clear, touching, touching * kMax) : touching;
}

}  // namespace

std::optional<std::vector<Spot>> nestedPolygons(std::span<const int> sides, const Clearance& clearance) {
  std::int64_t count = 1;
  for (const int side : sides) {
    count *= side;
    if (side < 2 || count > kMaxNestedNodes) {
      return std::nullopt;
    }
  }
  const Paired levels = paired(sides);
  const double share = clearance.node / clearance.pitch;
  Drawing drawing{{Spot{}}, {}};
  double turn = 0;
  for (std::size_t level = levels.sides.size(); level-- > 0;) {
    drawing = wrapped(drawing, levels.sides[level], share, turn);
  }
  const double scale = clearance.node / clearanceOf(drawing, share, 0);
  // The outermost polygon stands on a side.
  const int corners = levels.sides.front();
  turnBy(drawing.spots, kPi / 2 + (corners == 2 ? -kPi / 2 : kPi / corners) - turn);
  constexpr double kWide = 4;
  if (extentOf(drawing.spots) * scale > kWide * clearance.pitch * std::sqrt(static_cast<double>(count))) {
    return std::nullopt;
  }
  std::vector<Spot> spots;
  for (const int number : levels.numbers) {
    const Spot& spot = drawing.spots[number];
    spots.push_back({spot.x * scale, spot.y * scale});
  }
  return spots;
}

Rows rowsOf(int nodes, std::span<const std::pair<int, int>> arcs) {
  Rows rows(static_cast<std::size_t>(nodes));
  for (const auto& [from, to] : arcs) {
    rows[from].push_back(to);
  }
  for (std::vector<int>& row : rows) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
  return rows;
}

Rotation rotationOf(const Rows& rows) {
  const int count = static_cast<int>(rows.size());
  Rotation best;
  // The highest orders first: count / (blocks * shift).
  for (int parts = 1; parts * 3 <= count; ++parts) {
    if (count % parts != 0) {
      continue;
    }
    for (int shift = parts; shift >= 1; --shift) {
      if (parts % shift == 0 && isRotation(rows, count / (parts / shift), shift)) {
        return {count / (parts / shift), shift, count / parts};
      }
    }
  }
  return best;
}

std::vector<Spot> onCircles(const Rows& rows, const Clearance& clearance) {
  const int count = static_cast<int>(rows.size());
  const Rotation rotation = rotationOf(rows);
  std::vector<Spot> spots(rows.size());
  const int blocks = count / std::max(rotation.block, 1);
  constexpr int kMaxCircles = 5;
  constexpr int kMinOnCircle = 5;
  if (rotation.order > 1 && blocks > 1 && blocks <= kMaxCircles && rotation.block >= kMinOnCircle) {
    const double touching = clearance.pitch / (2 * std::sin(kPi / rotation.block));
    const double step = std::max(1.6 * clearance.pitch, touching * 0.7);
    for (int block = 0; block < blocks; ++block) {
      std::vector<int> ring;
      for (int i = 0; i < rotation.block; ++i) {
        ring.push_back(block * rotation.block + i);
      }
      // Places of every second circle lie between those of its neighbours.
      place(spots, ring, std::max(touching, step) + step * (blocks - 1 - block), block % 2 == 0 ? 0 : 0.5);
    }
    return spots;
  }
  std::vector<int> ring;
  if (rotation.order == count && count > 1) {
    // A circulant in the order of a generator, whose links become the rim and the others long chords.
    const int jump = minGenerator(rows);
    for (std::int64_t i = 0; i < count; ++i) {
      ring.push_back(static_cast<int>(i * jump % count));
    }
  }
  for (int at = 0; at < rotation.block && rotation.order > 1 && ring.size() < rows.size(); at += rotation.shift) {
    for (int block = 0; block < blocks; ++block) {
      for (int i = 0; i < rotation.shift; ++i) {
        ring.push_back(block * rotation.block + at + i);
      }
    }
  }
  for (int node = 0; ring.size() < rows.size(); ++node) {
    ring.push_back(node);
  }
  place(spots, ring, radiusOf(rows, ring, clearance), 0);
  return spots;
}

}  // namespace coppice::topology
