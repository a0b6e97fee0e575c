// SPDX-License-Identifier: Apache-2.0
#include "order/grid.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>

#include "base/disjoint_sets.hpp"
#include "base/rows.hpp"

namespace coppice::order {
namespace {

constexpr int kMaxThings = 4096;
constexpr std::int64_t kMaxPairs = std::int64_t{1} << 26U;  ///< of edges, or of a thing and two of its neighbours

class Factors {
public:
  Factors(int things, std::span<const GridEdge> edges, const Progress& progress)
      : m_things(things), m_progress(progress), m_classes(edges.size()) {
    std::map<std::pair<int, int>, Bandwidth> widest;
    for (const GridEdge& edge : edges) {
      Bandwidth& known = widest[std::minmax(edge.a, edge.b)];
      known = std::max(known, edge.bandwidth);
    }
    for (const auto& [ends, bandwidth] : widest) {
      m_edges.push_back({ends.first, ends.second, bandwidth});
    }
    m_neighbours = Rows<Neighbour>(static_cast<std::size_t>(things), [&](const auto& add) {
      for (std::size_t i = 0; i < m_edges.size(); ++i) {
        add(m_edges[i].a, Neighbour{m_edges[i].b, static_cast<int>(i)});
        add(m_edges[i].b, Neighbour{m_edges[i].a, static_cast<int>(i)});
      }
    });
  }

  std::optional<Grid> run() {
    if (m_things < 2 || m_things > kMaxThings || pairs() > kMaxPairs || !findDistances()) {
      return std::nullopt;
    }
    joinByDistances();
    joinByCorners();
    return read();
  }

private:
  struct Neighbour {
    int thing = 0;
    int edge = 0;
  };

  [[nodiscard]] std::int64_t pairs() const {
    std::int64_t pairs = static_cast<std::int64_t>(m_edges.size()) * m_things;
    for (int thing = 0; thing < m_things; ++thing) {
      const auto degree = static_cast<std::int64_t>(m_neighbours.size(thing));
      pairs += degree * degree * degree;
    }
    return pairs;
  }

  [[nodiscard]] int distance(int a, int b) const { return m_distance[static_cast<std::size_t>(a) * m_things + b]; }

  /// False where the graph is not connected.
  bool findDistances() {
    m_distance.assign(static_cast<std::size_t>(m_things) * m_things, -1);
    std::vector<int> queue;
    for (int from = 0; from < m_things; ++from) {
      throwIfCancelled(m_progress);
      std::int16_t* const row = m_distance.data() + static_cast<std::size_t>(from) * m_things;
      queue.assign(1, from);
      row[from] = 0;
      for (std::size_t i = 0; i < queue.size(); ++i) {
        for (const Neighbour& next : m_neighbours[queue[i]]) {
          if (row[next.thing] < 0) {
            row[next.thing] = static_cast<std::int16_t>(row[queue[i]] + 1);
            queue.push_back(next.thing);
            if (from == 0) {
              m_tree.push_back(next.edge);
            }
          }
        }
      }
      if (static_cast<int>(queue.size()) < m_things) {
        return false;
      }
    }
    return true;
  }

  /// Theta: xy and uv where d(x,u) + d(y,v) is not d(x,v) + d(y,u).
  void joinByDistances() {
    for (const int tree : m_tree) {
      throwIfCancelled(m_progress);
      const auto& [x, y, ignored] = m_edges[tree];
      for (std::size_t i = 0; i < m_edges.size(); ++i) {
        const auto& [u, v, unused] = m_edges[i];
        if (distance(x, u) + distance(y, v) != distance(x, v) + distance(y, u)) {
          m_classes.join(tree, static_cast<int>(i));
        }
      }
    }
  }

  /// Tau: two edges of a thing whose other ends have no further neighbour in common.
  void joinByCorners() {
    for (int corner = 0; corner < m_things; ++corner) {
      const auto around = m_neighbours[corner];
      for (std::size_t i = 0; i < around.size(); ++i) {
        for (std::size_t j = i + 1; j < around.size(); ++j) {
          const auto others = m_neighbours[around[i].thing];
          const bool isSquare = std::any_of(others.begin(), others.end(), [&](const Neighbour& other) {
            return other.thing != corner && distance(other.thing, around[j].thing) == 1;
          });
          if (!isSquare) {
            m_classes.join(around[i].edge, around[j].edge);
          }
        }
      }
    }
  }

  std::optional<Grid> read() {
    std::vector<int> classes;
    for (std::size_t i = 0; i < m_edges.size(); ++i) {
      if (m_classes.find(static_cast<int>(i)) == static_cast<int>(i)) {
        classes.push_back(static_cast<int>(i));
      }
    }
    struct Read {
      Grid::Side side;
      int stride = 0;  ///< to the nearest thing along it, by number
      std::vector<int> at;
    };
    std::vector<Read> read;
    for (const int each : classes) {
      const std::vector<int> line = walk(each);
      if (line.empty() && classes.size() == 1) {
        return std::nullopt;
      }
      Read& side = read.emplace_back();
      side.at = coordinates(each, line.empty() ? layer(each) : line);
      side.side.length = *std::max_element(side.at.begin(), side.at.end()) + 1;
      for (std::size_t i = 0; i < m_edges.size(); ++i) {
        if (m_classes.find(static_cast<int>(i)) == each) {
          side.side.bandwidth = std::max(side.side.bandwidth, m_edges[i].bandwidth);
        }
      }
      const std::vector<int> things = layer(each);
      side.stride = things[1];
    }
    std::stable_sort(read.begin(), read.end(), [](const Read& a, const Read& b) { return a.stride > b.stride; });
    Grid grid;
    grid.at.resize(static_cast<std::size_t>(m_things));
    std::int64_t points = 1;
    for (const Read& side : read) {
      grid.sides.push_back(side.side);
      points = std::min<std::int64_t>(points * side.side.length, std::int64_t{m_things} + 1);
      for (int thing = 0; thing < m_things; ++thing) {
        grid.at[thing].push_back(side.at[thing]);
      }
    }
    const std::set<std::vector<int>> distinct(grid.at.begin(), grid.at.end());
    return points == m_things && static_cast<int>(distinct.size()) == m_things ? std::optional(std::move(grid))
                                                                               : std::nullopt;
  }

  /// Things that thing 0 reaches over edges of this class alone, in ascending order.
  [[nodiscard]] std::vector<int> layer(int edgeClass) {
    std::vector<char> isSeen(static_cast<std::size_t>(m_things), 0);
    std::vector<int> things{0};
    isSeen[0] = 1;
    for (std::size_t i = 0; i < things.size(); ++i) {
      for (const Neighbour& next : m_neighbours[things[i]]) {
        if (isSeen[next.thing] == 0 && m_classes.find(next.edge) == edgeClass) {
          isSeen[next.thing] = 1;
          things.push_back(next.thing);
        }
      }
    }
    std::sort(things.begin(), things.end());
    return things;
  }

  /// The layer along its path or ring; empty where it is neither.
  std::vector<int> walk(int edgeClass) {
    const std::vector<int> things = layer(edgeClass);
    const auto next = [&](int thing) {
      std::vector<int> around;
      for (const Neighbour& each : m_neighbours[thing]) {
        if (m_classes.find(each.edge) == edgeClass) {
          around.push_back(each.thing);
        }
      }
      std::sort(around.begin(), around.end());
      return around;
    };
    int first = things.front();
    for (const int thing : things) {
      const std::size_t degree = next(thing).size();
      if (degree > 2) {
        return {};
      }
      first = degree == 1 && next(first).size() > 1 ? thing : first;
    }
    std::vector<int> line{first};
    while (line.size() < things.size()) {
      const std::vector<int> around = next(line.back());
      const bool isBack = line.size() > 1 && around.front() == line[line.size() - 2];
      line.push_back(isBack ? around.back() : around.front());
    }
    return line;
  }

  /// By thing the number of the thing of the layer that it is joined to without edges of this class.
  std::vector<int> coordinates(int edgeClass, const std::vector<int>& line) {
    DisjointSets columns(static_cast<std::size_t>(m_things));
    for (std::size_t i = 0; i < m_edges.size(); ++i) {
      if (m_classes.find(static_cast<int>(i)) != edgeClass) {
        columns.join(m_edges[i].a, m_edges[i].b);
      }
    }
    std::vector<int> ofColumn(static_cast<std::size_t>(m_things), 0);
    for (std::size_t i = 0; i < line.size(); ++i) {
      ofColumn[columns.find(line[i])] = static_cast<int>(i);
    }
    std::vector<int> at;
    for (int thing = 0; thing < m_things; ++thing) {
      at.push_back(ofColumn[columns.find(thing)]);
    }
    return at;
  }

  int m_things;
  const Progress& m_progress;
  std::vector<GridEdge> m_edges;
  Rows<Neighbour> m_neighbours;
  std::vector<std::int16_t> m_distance;  ///< by pair
  std::vector<int> m_tree;               ///< a spanning tree
  DisjointSets m_classes;                ///< edges of one factor
};

std::vector<int> fromPoints(const Grid& grid, const std::vector<std::vector<int>>& points) {
  const std::vector<int> things = grid.things();
  std::vector<int> order;
  for (const std::vector<int>& point : points) {
    order.push_back(things[grid.numberOf(point)]);
  }
  return order;
}

/// The digits of a number, the most significant first, and how often the one before each has counted on so far.
struct Counted {
  std::vector<int> digits;
  std::vector<std::int64_t> turns;
};

Counted count(std::int64_t number, std::span<const int> radices) {
  Counted counted{std::vector<int>(radices.size()), std::vector<std::int64_t>(radices.size())};
  for (std::size_t i = radices.size(); i-- > 0;) {
    counted.digits[i] = static_cast<int>(number % radices[i]);
    number /= radices[i];
    counted.turns[i] = number;
  }
  return counted;
}

/// Skilling, "Programming the Hilbert curve" (2004): the point at a place of the curve.
std::vector<int> hilbertPoint(int place, int sides, int bits) {
  std::vector<int> x(static_cast<std::size_t>(sides), 0);
  for (int bit = 0; bit < sides * bits; ++bit) {
    const int fromTop = bit;
    x[fromTop % sides] |= ((place >> (sides * bits - 1 - fromTop)) & 1) << (bits - 1 - fromTop / sides);
  }
  const int carried = x[sides - 1] >> 1;
  for (int i = sides - 1; i > 0; --i) {
    x[i] ^= x[i - 1];
  }
  x[0] ^= carried;
  for (int q = 2; q != 1 << bits; q <<= 1) {
    const int below = q - 1;
    for (int i = sides - 1; i >= 0; --i) {
      if ((x[i] & q) != 0) {
        x[0] ^= below;
      } else {
        const int exchanged = (x[0] ^ x[i]) & below;
        x[0] ^= exchanged;
        x[i] ^= exchanged;
      }
    }
  }
  return x;
}

std::vector<int> primesOf(int number) {
  std::vector<int> primes;
  for (int prime = 2; number > 1; ++prime) {
    for (; number % prime == 0; number /= prime) {
      primes.push_back(prime);
    }
  }
  return primes;
}

}  // namespace

int Grid::numberOf(std::span<const int> point) const {
  int number = 0;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    number = number * sides[i].length + point[i];
  }
  return number;
}

std::vector<int> Grid::things() const {
  std::vector<int> things(at.size());
  for (std::size_t thing = 0; thing < at.size(); ++thing) {
    things[numberOf(at[thing])] = static_cast<int>(thing);
  }
  return things;
}

std::optional<Grid> gridOf(int things, std::span<const GridEdge> edges, const Progress& progress) {
  return Factors(things, edges, progress).run();
}

std::optional<Grid> gridOf(const fabric::Fabric& fabric, std::span<const int> thingOf, int things,
                           const Progress& progress) {
  std::vector<GridEdge> edges;
  for (const fabric::Arc& arc : fabric.arcs()) {
    const int a = thingOf[arc.tail];
    const int b = thingOf[arc.head];
    if (a >= 0 && b >= 0 && a != b) {
      edges.push_back({a, b, arc.bandwidth});
    }
  }
  return gridOf(things, edges, progress);
}

std::vector<std::vector<int>> distinctArrangements(const Grid& grid, std::size_t max) {
  // Alike sides stand for one another: the first of each kind gives its number.
  std::vector<int> kinds;
  for (const Grid::Side& side : grid.sides) {
    kinds.push_back(static_cast<int>(std::find(grid.sides.begin(), grid.sides.end(), side) - grid.sides.begin()));
  }
  std::vector<int> order = kinds;
  std::sort(order.begin(), order.end());
  std::vector<std::vector<int>> arrangements;
  do {
    std::vector<char> isUsed(kinds.size(), 0);
    std::vector<int>& sides = arrangements.emplace_back();
    for (const int kind : order) {
      int side = kind;
      while (isUsed[side] != 0 || kinds[side] != kind) {
        ++side;
      }
      isUsed[side] = 1;
      sides.push_back(side);
    }
  } while (arrangements.size() < max && std::next_permutation(order.begin(), order.end()));
  return arrangements;
}

std::vector<std::vector<int>> curves(const Grid& grid) {
  constexpr std::size_t kMaxArrangements = 12;
  const auto points = static_cast<int>(grid.at.size());
  std::vector<std::vector<int>> orders;
  for (const std::vector<int>& sides : distinctArrangements(grid, kMaxArrangements)) {
    std::vector<int> lengths;
    for (const int side : sides) {
      lengths.push_back(grid.sides[side].length);
    }
    std::vector<std::vector<int>> snake;
    std::vector<std::vector<int>> onward;
    for (int place = 0; place < points; ++place) {
      const Counted counted = count(place, lengths);
      std::vector<int> back(sides.size());
      std::vector<int> on(sides.size());
      for (std::size_t i = 0; i < sides.size(); ++i) {
        const int digit = counted.digits[i];
        back[sides[i]] = counted.turns[i] % 2 == 0 ? digit : lengths[i] - 1 - digit;
        // The carry of all turns so far, so that each step moves one coordinate by one around its ring.
        on[sides[i]] = static_cast<int>((digit + (lengths[i] - 1) * (counted.turns[i] % lengths[i])) % lengths[i]);
      }
      snake.push_back(std::move(back));
      onward.push_back(std::move(on));
    }
    orders.push_back(fromPoints(grid, snake));
    orders.push_back(fromPoints(grid, onward));
  }
  const auto length = static_cast<unsigned>(grid.sides.front().length);
  const bool isCube = std::has_single_bit(length) && length > 2 && grid.sides.size() > 1 &&
                      std::all_of(grid.sides.begin(), grid.sides.end(),
                                  [&](const Grid::Side& side) { return side.length == static_cast<int>(length); });
  if (isCube) {
    std::vector<std::vector<int>> curve;
    for (int place = 0; place < points; ++place) {
      curve.push_back(hilbertPoint(place, static_cast<int>(grid.sides.size()), std::countr_zero(length)));
    }
    orders.push_back(fromPoints(grid, curve));
  }
  return orders;
}

std::vector<int> orderBy(const Grid& grid, const DigitRule& rule) {
  std::vector<int> radices;
  for (const DigitRule::Digit& digit : rule.digits) {
    radices.push_back(digit.radix);
  }
  const std::vector<int> things = grid.things();
  const auto digitCount = static_cast<int>(rule.digits.size());
  std::vector<int> order;
  std::vector<int> point(grid.sides.size());
  for (std::size_t rank = 0; rank < grid.at.size(); ++rank) {
    std::vector<int> digits = count(static_cast<std::int64_t>(rank), radices).digits;
    for (const auto& [to, from] : rule.differences) {
      if (to < digitCount) {
        digits[to] = (digits[to] + radices[to] - digits[from] % radices[to]) % radices[to];
      }
    }
    std::fill(point.begin(), point.end(), 0);
    for (int i = 0; i < digitCount; ++i) {
      point[rule.digits[i].side] += digits[i] * rule.digits[i].weight;
    }
    for (const auto& [to, from] : rule.differences) {
      if (to >= digitCount && rule.digits[from].side != to - digitCount) {
        int& coordinate = point[to - digitCount];
        const int length = grid.sides[to - digitCount].length;
        const DigitRule::Digit& digit = rule.digits[from];
        coordinate = (coordinate + length - point[digit.side] / digit.weight % digit.radix % length) % length;
      }
    }
    order.push_back(things[grid.numberOf(point)]);
  }
  return order;
}

std::vector<DigitRule> digitRules(const Grid& grid, bool arePrime) {
  constexpr std::size_t kMaxArrangements = 6;
  std::vector<DigitRule> rules;
  for (const std::vector<int>& sides : distinctArrangements(grid, kMaxArrangements)) {
    std::vector<std::vector<DigitRule::Digit>> ofSide;
    std::size_t most = 0;
    for (const int side : sides) {
      auto& digits = ofSide.emplace_back();
      int weight = grid.sides[side].length;
      for (const int radix : arePrime ? primesOf(weight) : std::vector{weight}) {
        weight /= radix;
        digits.push_back({side, radix, weight});
      }
      most = std::max(most, digits.size());
    }
    std::vector<DigitRule> plain(2);
    for (const auto& digits : ofSide) {
      plain[0].digits.insert(plain[0].digits.end(), digits.begin(), digits.end());
    }
    for (std::size_t i = 0; i < most; ++i) {
      for (const auto& digits : ofSide) {
        if (i < digits.size()) {
          plain[1].digits.push_back(digits[i]);
        }
      }
    }
    for (std::size_t i = 0; i < 2; ++i) {
      DigitRule reversed = plain[i];
      std::reverse(reversed.digits.begin(), reversed.digits.end());
      plain.push_back(std::move(reversed));
    }
    for (DigitRule& rule : plain) {
      DigitRule gray = rule;
      DigitRule inSides = rule;
      const auto last = static_cast<int>(rule.digits.size()) - 1;
      for (int i = last; i > 0; --i) {
        gray.differences.push_back({i, i - 1});
      }
      // Within a coordinate, from the digit of the smallest weight on.
      for (int to = last; to >= 0; --to) {
        for (int from = 0; from <= last; ++from) {
          const DigitRule::Digit& low = rule.digits[to];
          const DigitRule::Digit& high = rule.digits[from];
          if (low.side == high.side && high.weight == low.weight * low.radix) {
            inSides.differences.push_back({to, from});
          }
        }
      }
      std::stable_sort(inSides.differences.begin(), inSides.differences.end(), [&](const auto& a, const auto& b) {
        return rule.digits[a.to].weight < rule.digits[b.to].weight;
      });
      rules.push_back(std::move(gray));
      if (arePrime && !inSides.differences.empty()) {
        rules.push_back(std::move(inSides));
      }
      rules.push_back(std::move(rule));
    }
  }
  return rules;
}

std::size_t changesOf(const Grid& grid, const DigitRule& rule) {
  const std::size_t digits = rule.digits.size();
  return digits * (digits - 1) / 2 + digits * (digits + grid.sides.size()) + rule.differences.size();
}

DigitRule changed(const Grid& grid, const DigitRule& rule, std::size_t change) {
  const std::size_t digits = rule.digits.size();
  DigitRule result = rule;
  for (std::size_t i = 0; i < digits; ++i) {
    if (change < digits - 1 - i) {
      std::swap(result.digits[i], result.digits[i + 1 + change]);
      return result;
    }
    change -= digits - 1 - i;
  }
  const std::size_t targets = digits + grid.sides.size();
  if (change < digits * targets) {
    const auto to = static_cast<int>(change % targets);
    const auto from = static_cast<int>(change / targets);
    const bool isOwn =
        to < static_cast<int>(digits) ? to == from : rule.digits[from].side == to - static_cast<int>(digits);
    if (!isOwn) {
      result.differences.push_back({to, from});
    }
    return result;
  }
  result.differences.erase(result.differences.begin() + static_cast<std::ptrdiff_t>(change - digits * targets));
  return result;
}

}  // namespace coppice::order
