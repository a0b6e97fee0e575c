// SPDX-License-Identifier: Apache-2.0
#include "topology/distance_regular.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <utility>

#include "base/comma_list.hpp"
#include "base/text.hpp"
#include "topology/families.hpp"

namespace coppice::topology {
namespace {

using std::size_t;

/// Neighbour lists of an undirected graph.
using Lists = std::vector<std::vector<int>>;

Digraph fromLists(const Lists& lists) {
  Digraph graph;
  graph.nodes = static_cast<int>(lists.size());
  graph.degree = static_cast<int>(lists.front().size());
  for (const auto& list : lists) {
    graph.heads.insert(graph.heads.end(), list.begin(), list.end());
  }
  return graph;
}

Lists joined(int nodes, const std::function<bool(int, int)>& areJoined) {
  Lists lists(static_cast<size_t>(nodes));
  for (int v = 0; v < nodes; ++v) {
    for (int w = 0; w < nodes; ++w) {
      if (v != w && areJoined(v, w)) {
        lists[static_cast<size_t>(v)].push_back(w);
      }
    }
  }
  return lists;
}

/// Points and blocks as the two halves of a bipartite graph. @param blocks the points of every block
Lists incidence(int points, const Lists& blocks) {
  Lists lists(static_cast<size_t>(points) + blocks.size());
  for (size_t b = 0; b < blocks.size(); ++b) {
    for (const int point : blocks[b]) {
      lists[static_cast<size_t>(point)].push_back(points + static_cast<int>(b));
      lists[static_cast<size_t>(points) + b].push_back(point);
    }
  }
  return lists;
}

/// Edges as nodes, joined where they share an end.
Lists lineOf(const Lists& lists) {
  std::vector<std::pair<int, int>> edges;
  Lists at(lists.size());
  for (size_t v = 0; v < lists.size(); ++v) {
    for (const int w : lists[v]) {
      if (static_cast<int>(v) < w) {
        at[v].push_back(static_cast<int>(edges.size()));
        at[static_cast<size_t>(w)].push_back(static_cast<int>(edges.size()));
        edges.emplace_back(static_cast<int>(v), w);
      }
    }
  }
  Lists result(edges.size());
  for (size_t e = 0; e < edges.size(); ++e) {
    for (const int end : {edges[e].first, edges[e].second}) {
      for (const int other : at[static_cast<size_t>(end)]) {
        if (other != static_cast<int>(e)) {
          result[e].push_back(other);
        }
      }
    }
  }
  return result;
}

/// Subsets of `size` of {0 .. ground-1} as bit sets, ascending.
std::vector<unsigned> subsets(int ground, int size) {
  std::vector<unsigned> sets;
  for (unsigned set = 0; set < 1U << ground; ++set) {
    if (std::popcount(set) == size) {
      sets.push_back(set);
    }
  }
  return sets;
}

/// O_k: (k-1)-subsets of 2k-1, joined where disjoint.
Lists oddGraph(int k) {
  const auto sets = subsets(2 * k - 1, k - 1);
  return joined(static_cast<int>(sets.size()),
                [&](int v, int w) { return (sets[static_cast<size_t>(v)] & sets[static_cast<size_t>(w)]) == 0; });
}

Lists doubledOddGraph(int k) {
  const auto points = subsets(2 * k - 1, k - 1);
  Lists blocks;
  for (const unsigned large : subsets(2 * k - 1, k)) {
    auto& block = blocks.emplace_back();
    for (size_t p = 0; p < points.size(); ++p) {
      if ((points[p] & ~large) == 0) {
        block.push_back(static_cast<int>(p));
      }
    }
  }
  return incidence(static_cast<int>(points.size()), blocks);
}

using Vector = std::vector<int>;

/// Points of PG(dimension, q), q prime, in a fixed order: first non-zero coordinate 1.
std::vector<Vector> projectivePoints(int dimension, int q) {
  std::vector<Vector> points;
  Vector vector(static_cast<size_t>(dimension) + 1, 0);
  const auto advance = [&] {
    for (size_t i = vector.size(); i-- > 0;) {
      if (++vector[i] < q) {
        return true;
      }
      vector[i] = 0;
    }
    return false;
  };
  while (advance()) {
    if (*std::find_if(vector.begin(), vector.end(), [](int x) { return x != 0; }) == 1) {
      points.push_back(vector);
    }
  }
  return points;
}

Lists projectivePlane(int q) {
  const auto points = projectivePoints(2, q);
  Lists blocks;
  for (const Vector& line : points) {
    auto& block = blocks.emplace_back();
    for (size_t p = 0; p < points.size(); ++p) {
      int sum = 0;
      for (size_t i = 0; i < line.size(); ++i) {
        sum += line[i] * points[p][i];
      }
      if (sum % q == 0) {
        block.push_back(static_cast<int>(p));
      }
    }
  }
  return incidence(static_cast<int>(points.size()), blocks);
}

/// Product in the field of q elements: q prime, or 4 as polynomials over GF(2) modulo x^2 + x + 1.
int fieldProduct(int q, int a, int b) {
  if (q != 4) {
    return a * b % q;
  }
  const int raw = ((b & 1) != 0 ? a : 0) ^ ((b & 2) != 0 ? a << 1 : 0);
  return (raw & 4) != 0 ? raw ^ 7 : raw;
}

int fieldSum(int q, int a, int b) {
  return q == 4 ? a ^ b : (a + b) % q;
}

/// AG(2,q) without one parallel class: points (x, y), lines y = m x + b.
Lists affinePlane(int q) {
  Lists blocks;
  for (int m = 0; m < q; ++m) {
    for (int b = 0; b < q; ++b) {
      auto& block = blocks.emplace_back();
      for (int x = 0; x < q; ++x) {
        block.push_back(x * q + fieldSum(q, fieldProduct(q, m, x), b));
      }
    }
  }
  return incidence(q * q, blocks);
}

/// All lines through two of `points` that `isLine` accepts, each as the numbers of its points.
Lists linesThrough(const std::vector<Vector>& points, int q,
                   const std::function<bool(const Vector&, const Vector&)>& isLine) {
  const auto numberOf = [&](Vector sum) {
    for (int& x : sum) {
      x %= q;
    }
    const int lead = *std::find_if(sum.begin(), sum.end(), [](int x) { return x != 0; });
    int inverse = 1;
    while (inverse * lead % q != 1) {
      ++inverse;
    }
    for (int& x : sum) {
      x = x * inverse % q;
    }
    return static_cast<int>(std::lower_bound(points.begin(), points.end(), sum) - points.begin());
  };
  Lists lines;
  for (size_t a = 0; a < points.size(); ++a) {
    for (size_t b = a + 1; b < points.size(); ++b) {
      if (!isLine(points[a], points[b])) {
        continue;
      }
      std::vector<int> line{static_cast<int>(b)};
      for (int factor = 0; factor < q; ++factor) {
        Vector sum = points[a];
        for (size_t i = 0; i < sum.size(); ++i) {
          sum[i] += factor * points[b][i];
        }
        line.push_back(numberOf(std::move(sum)));
      }
      std::sort(line.begin(), line.end());
      // Every line is met once for each pair of its points.
      if (line[0] == static_cast<int>(a) && line[1] == static_cast<int>(b)) {
        lines.push_back(std::move(line));
      }
    }
  }
  return lines;
}

/// GQ(q,q) as W(q): points of PG(3,q), lines that are isotropic for a symplectic form.
Lists quadrangle(int q) {
  const auto points = projectivePoints(3, q);
  return incidence(static_cast<int>(points.size()), linesThrough(points, q, [q](const Vector& a, const Vector& b) {
                     const int form = a[0] * b[1] - a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
                     return form % q == 0;
                   }));
}

/// GH(q,q): the split Cayley hexagon. Points of the quadric x0 x4 + x1 x5 + x2 x6 = x3^2, lines by the six linear
/// equations of Tits on their Grassmann coordinates.
Lists hexagon(int q) {
  std::vector<Vector> points;
  for (const Vector& x : projectivePoints(6, q)) {
    if ((x[0] * x[4] + x[1] * x[5] + x[2] * x[6] - x[3] * x[3]) % q == 0) {
      points.push_back(x);
    }
  }
  const auto isLine = [q](const Vector& a, const Vector& b) {
    const auto p = [&](size_t i, size_t j) { return a[i] * b[j] - a[j] * b[i]; };
    const std::array<int, 6> differences = {p(1, 2) - p(3, 4), p(5, 4) - p(3, 2), p(2, 0) - p(3, 5),
                                            p(6, 5) - p(3, 0), p(0, 1) - p(3, 6), p(4, 6) - p(3, 1)};
    const int form =
        a[0] * b[4] + a[4] * b[0] + a[1] * b[5] + a[5] * b[1] + a[2] * b[6] + a[6] * b[2] - 2 * a[3] * b[3];
    return form % q == 0 && std::all_of(differences.begin(), differences.end(), [q](int x) { return x % q == 0; });
  };
  return incidence(static_cast<int>(points.size()), linesThrough(points, q, isLine));
}

/// K_{n,n} without a perfect matching.
Lists crown(int n) {
  return joined(2 * n, [n](int v, int w) { return (v < n) != (w < n) && v % n != w % n; });
}

/// The other half of the Fano plane: points and lines that do not meet.
Lists fanoComplement() {
  const Lists plane = projectivePlane(2);
  return joined(14, [&](int v, int w) {
    const auto& list = plane[static_cast<size_t>(v)];
    return (v < 7) != (w < 7) && std::find(list.begin(), list.end(), w) == list.end();
  });
}

/// Triples of seven points that are not a line of the Fano plane, joined where disjoint.
Lists coxeter() {
  std::vector<unsigned> triples;
  for (const unsigned set : subsets(7, 3)) {
    bool isLine = false;
    for (int shift = 0; shift < 7; ++shift) {
      const unsigned line = (1U << shift) | (1U << (shift + 1) % 7) | (1U << (shift + 3) % 7);
      isLine = isLine || set == line;
    }
    if (!isLine) {
      triples.push_back(set);
    }
  }
  return joined(28,
                [&](int v, int w) { return (triples[static_cast<size_t>(v)] & triples[static_cast<size_t>(w)]) == 0; });
}

/// Generalised Petersen graph G(n, k).
Lists petersenLike(int n, int k) {
  Lists lists(static_cast<size_t>(n) * 2);
  for (int v = 0; v < n; ++v) {
    lists[static_cast<size_t>(v)] = {(v + 1) % n, (v + n - 1) % n, n + v};
    lists[static_cast<size_t>(n + v)] = {n + (v + k) % n, n + (v + n - k) % n, v};
  }
  return lists;
}

/// Two poles and two rings of five, each joined to its pole and, turned by half a step, to the other ring.
Lists icosahedron() {
  Lists lists(12);
  const auto join = [&](int v, int w) {
    lists[static_cast<size_t>(v)].push_back(w);
    lists[static_cast<size_t>(w)].push_back(v);
  };
  for (int i = 0; i < 5; ++i) {
    const int next = (i + 1) % 5;
    join(10, i);
    join(11, 5 + i);
    join(i, next);
    join(5 + i, 5 + next);
    join(i, 5 + i);
    join(i, 5 + next);
  }
  return lists;
}

struct Recipe {
  DistanceRegularEntry entry;
  std::function<Lists()> lists;
};

void addPlanes(std::vector<Recipe>& all) {
  const auto text = [](int q) { return std::to_string(q); };
  for (const int q : {2, 3, 5, 7, 11, 13}) {
    const int points = q * q + q + 1;
    all.push_back({{"pg-" + text(q), "incidence graph of PG(2," + text(q) + ")", 2 * points, q + 1, 3},
                   [q] { return projectivePlane(q); }});
    if (q <= 7) {
      all.push_back({{"line-pg-" + text(q), "line graph of the incidence graph of PG(2," + text(q) + ")",
                      points * (q + 1), 2 * q, 3},
                     [q] { return lineOf(projectivePlane(q)); }});
    }
  }
  for (const int q : {3, 4, 5, 7, 11, 13}) {
    all.push_back(
        {{"ag-" + text(q), "incidence graph of AG(2," + text(q) + ") without a parallel class", 2 * q * q, q, 4},
         [q] { return affinePlane(q); }});
  }
  for (const int q : {2, 3, 5, 7}) {
    const int points = (q + 1) * (q * q + 1);
    all.push_back({{"gq-" + text(q), "incidence graph of GQ(" + text(q) + "," + text(q) + ")", 2 * points, q + 1, 4},
                   [q] { return quadrangle(q); }});
    if (q <= 5) {
      all.push_back({{"line-gq-" + text(q), "line graph of the incidence graph of GQ(" + text(q) + "," + text(q) + ")",
                      points * (q + 1), 2 * q, 4},
                     [q] { return lineOf(quadrangle(q)); }});
    }
  }
  for (const int q : {2, 3}) {
    const int points = (q + 1) * (q * q * q * q + q * q + 1);
    all.push_back({{"gh-" + text(q), "incidence graph of GH(" + text(q) + "," + text(q) + ")", 2 * points, q + 1, 6},
                   [q] { return hexagon(q); }});
  }
  all.push_back({{"line-gh-2", "line graph of Tutte's 12-cage", 189, 4, 6}, [] { return lineOf(hexagon(2)); }});
}

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> kAll = [] {
    std::vector<Recipe> all;
    for (int n = 3; n <= 17; ++n) {
      all.push_back(
          {{"crown-" + std::to_string(n),
            "K_{" + std::to_string(n) + "," + std::to_string(n) + "} without a perfect matching", 2 * n, n - 1, 3},
           [n] { return crown(n); }});
    }
    for (const auto& [k, nodes] : {std::pair(3, 10), std::pair(4, 35), std::pair(5, 126), std::pair(6, 462)}) {
      const std::string text = std::to_string(k);
      all.push_back({{"odd-" + text, "odd graph O_" + text, nodes, k, k - 1}, [k = k] { return oddGraph(k); }});
      all.push_back({{"doubled-odd-" + text, "doubled odd graph D(O_" + text + ")", 2 * nodes, k, 2 * k - 1},
                     [k = k] { return doubledOddGraph(k); }});
    }
    addPlanes(all);
    all.push_back({{"octahedron", "octahedron J(4,2)", 6, 4, 2},
                   [] { return joined(6, [](int v, int w) { return v / 2 != w / 2; }); }});
    all.push_back({{"icosahedron", "icosahedron", 12, 5, 3}, icosahedron});
    all.push_back({{"dodecahedron", "dodecahedron", 20, 3, 5}, [] { return petersenLike(10, 2); }});
    all.push_back({{"coxeter", "Coxeter graph", 28, 3, 4}, coxeter});
    all.push_back({{"heawood-distance-3", "distance-3 graph of the Heawood graph", 14, 4, 3}, fanoComplement});
    all.push_back(
        {{"line-petersen", "line graph of the Petersen graph", 15, 4, 3}, [] { return lineOf(petersenLike(5, 2)); }});
    std::stable_sort(all.begin(), all.end(), [](const Recipe& a, const Recipe& b) {
      return std::pair(a.entry.nodes, a.entry.degree) < std::pair(b.entry.nodes, b.entry.degree);
    });
    return all;
  }();
  return kAll;
}

}  // namespace

std::span<const DistanceRegularEntry> distanceRegularGraphs() {
  static const std::vector<DistanceRegularEntry> kAll = [] {
    std::vector<DistanceRegularEntry> all;
    for (const Recipe& recipe : recipes()) {
      all.push_back(recipe.entry);
    }
    return all;
  }();
  return kAll;
}

Result<Digraph> distanceRegular(const std::string& name) {
  for (const Recipe& recipe : recipes()) {
    if (recipe.entry.name == name) {
      Digraph graph = fromLists(recipe.lists());
      graph.name = recipe.entry.title;
      return graph;
    }
  }
  const std::string names = commaList(recipes(), [](const Recipe& recipe) { return recipe.entry.name; });
  return Error{ErrorCode::badUsage, "there is no distance-regular graph " + inQuotes(name), "choose one of " + names};
}

}  // namespace coppice::topology
