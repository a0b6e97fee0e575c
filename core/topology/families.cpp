// SPDX-License-Identifier: Apache-2.0
#include "topology/families.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <set>

#include "topology/expansions.hpp"

namespace coppice::topology {
namespace {

using std::int64_t;
using std::size_t;

/// A graph from the heads of each node; `out` appends those of one node. Checks size and degree first.
Result<Digraph> made(const std::string& name, int64_t nodes, int64_t degree,
                     const std::function<void(int, std::vector<int>&)>& out) {
  if (Outcome sized = checkSize(name, nodes, degree); !sized) {
    return sized.error();
  }
  Digraph graph;
  graph.name = name;
  graph.nodes = static_cast<int>(nodes);
  graph.degree = static_cast<int>(degree);
  graph.heads.reserve(static_cast<size_t>(nodes * degree));
  for (int v = 0; v < graph.nodes; ++v) {
    out(v, graph.heads);
  }
  return graph;
}

Error refused(const std::string& what, const std::string& fix) {
  return {ErrorCode::badUsage, what, fix};
}

std::string numbers(std::initializer_list<int64_t> list) {
  std::string text;
  for (const int64_t number : list) {
    text += (text.empty() ? "" : ",") + std::to_string(number);
  }
  return "(" + text + ")";
}

std::string subscript(int a, int b) {
  return "_{" + std::to_string(a) + "," + std::to_string(b) + "}";
}

}  // namespace

Result<Digraph> complete(int nodes) {
  return made("K_" + std::to_string(nodes), nodes, int64_t{nodes} - 1, [&](int v, std::vector<int>& heads) {
    for (int jump = 1; jump < nodes; ++jump) {
      heads.push_back((v + jump) % nodes);
    }
  });
}

Result<Digraph> multiComplete(int nodes, int degree) {
  const std::string name = "K" + numbers({degree, nodes});
  if (nodes < 2 || degree < nodes - 1) {
    return refused(name + " needs a link to every other node",
                   "give a degree of at least the number of nodes less one");
  }
  // Jumps 1, -1, 2, -2, … in turn, so that what is left over runs both ways.
  std::vector<int> jumps;
  for (int a = 1; 2 * a <= nodes; ++a) {
    jumps.push_back(a);
    if (2 * a < nodes) {
      jumps.push_back(nodes - a);
    }
  }
  if (nodes % 2 == 0 && degree % (nodes - 1) % 2 == 1) {
    std::rotate(jumps.begin(), jumps.end() - 1, jumps.end());
  }
  return made(name, nodes, degree, [&](int v, std::vector<int>& heads) {
    for (int j = 0; j < degree; ++j) {
      heads.push_back((v + jumps[static_cast<size_t>(j) % jumps.size()]) % nodes);
    }
  });
}

Result<Digraph> completeBipartite(int degree) {
  return made("K" + subscript(degree, degree), int64_t{degree} * 2, degree, [&](int v, std::vector<int>& heads) {
    for (int j = 0; j < degree; ++j) {
      heads.push_back(v < degree ? degree + j : j);
    }
  });
}

Result<Digraph> directedCirculant(int degree) {
  return made("DirectedCirculant(" + std::to_string(degree) + ")", int64_t{degree} + 2, degree,
              [&](int v, std::vector<int>& heads) {
                for (int jump = 1; jump <= degree; ++jump) {
                  heads.push_back((v + jump) % (degree + 2));
                }
              });
}

Result<Digraph> circulant(int nodes, std::span<const int> jumps) {
  std::string list;
  std::set<int> seen;
  int64_t degree = 0;
  for (const int jump : jumps) {
    if (jump < 1 || jump > nodes / 2) {
      return refused(
          "the jump " + std::to_string(jump) + " is not between 1 and half of " + std::to_string(nodes) + " nodes",
          "give jumps from 1 to " + std::to_string(nodes / 2));
    }
    if (!seen.insert(jump).second) {
      return refused("the jump " + std::to_string(jump) + " is given twice", "give every jump once");
    }
    list += (list.empty() ? "" : ",") + std::to_string(jump);
    degree += jump * 2 == nodes ? 1 : 2;
  }
  return made("C(" + std::to_string(nodes) + ",{" + list + "})", nodes, degree, [&](int v, std::vector<int>& heads) {
    for (const int jump : jumps) {
      heads.push_back((v + jump) % nodes);
      if (jump * 2 != nodes) {
        heads.push_back((v + nodes - jump) % nodes);
      }
    }
  });
}

int denseCirculantSteps(int nodes) {
  // smallest m with 2m^2 + 2m + 1 >= n, as (2m+1)^2 >= 2n-1
  int64_t m = 1;
  while (2 * m * m + 2 * m + 1 < nodes) {
    ++m;
  }
  return static_cast<int>(m);
}

Result<Digraph> denseCirculant(int nodes, int copies) {
  if (nodes <= 6 || copies < 1) {
    return refused("C(n,{m,m+1}) needs more than 6 nodes", "give 7 nodes or more");
  }
  const int m = denseCirculantSteps(nodes);
  const std::string once = "C(" + std::to_string(nodes) + ",{" + std::to_string(m) + "," + std::to_string(m + 1) + "})";
  return made(copies == 1 ? once : std::to_string(copies) + "-fold " + once, nodes, int64_t{4} * copies,
              [&](int v, std::vector<int>& heads) {
                for (const int jump : {m, m + 1}) {
                  heads.insert(heads.end(), static_cast<size_t>(copies), (v + jump) % nodes);
                  heads.insert(heads.end(), static_cast<size_t>(copies), (v + nodes - jump) % nodes);
                }
              });
}

Result<Digraph> biRing(int degree, int nodes) {
  if (degree < 2 || degree % 2 != 0 || nodes < 3) {
    return refused("BiRing" + numbers({degree, nodes}) + " needs an even degree and 3 nodes or more",
                   "give an even degree and 3 nodes or more");
  }
  return made("BiRing" + numbers({degree, nodes}), nodes, degree, [&](int v, std::vector<int>& heads) {
    heads.insert(heads.end(), static_cast<size_t>(degree) / 2, (v + 1) % nodes);
    heads.insert(heads.end(), static_cast<size_t>(degree) / 2, (v + nodes - 1) % nodes);
  });
}

Result<Digraph> uniRing(int degree, int nodes) {
  return made("UniRing" + numbers({degree, nodes}), nodes, degree, [&](int v, std::vector<int>& heads) {
    heads.insert(heads.end(), static_cast<size_t>(degree), (v + 1) % nodes);
  });
}

Result<Digraph> generalizedKautz(int degree, int nodes) {
  if (degree < 1 || nodes < degree + 1) {
    return refused("Pi" + subscript(degree, nodes) + " needs at least one node more than links",
                   "give at least " + std::to_string(int64_t{degree} + 1) + " nodes");
  }
  return made("Pi" + subscript(degree, nodes), nodes, degree, [&](int v, std::vector<int>& heads) {
    for (int a = 1; a <= degree; ++a) {
      const int64_t head = (-int64_t{degree} * v - a) % nodes;
      heads.push_back(static_cast<int>(head < 0 ? head + nodes : head));
    }
  });
}

Result<Digraph> deBruijn(int degree, int symbols) {
  int64_t nodes = 1;
  for (int i = 0; i < symbols && nodes <= kMaxNodes; ++i) {
    nodes *= degree;
  }
  return made("DBJ" + numbers({degree, symbols}), nodes, degree, [&](int v, std::vector<int>& heads) {
    for (int a = 0; a < degree; ++a) {
      heads.push_back(static_cast<int>((int64_t{degree} * v + a) % nodes));
    }
  });
}

Result<Digraph> hamming(int dimensions, int side) {
  if (dimensions < 1) {
    return refused("H(n,q) has one dimension or more", "give n of 1 or more");
  }
  auto graph = complete(side);
  if (graph && dimensions > 1) {
    graph = power(*graph, dimensions);
  }
  if (graph) {
    graph->name = "H" + numbers({dimensions, side});
  }
  return graph;
}

Result<Digraph> twistedTorus(int width, int height, int twist) {
  if (width < 3 || height < 2 || twist < 0 || twist >= width) {
    return refused("a twisted torus has a width of 3 or more, a height of 2 or more and a twist below the width",
                   "give width >= 3, height >= 2 and 0 <= twist < width");
  }
  const auto at = [&](int x, int y) {
    // Leaving at the top comes back at the bottom, `twist` further.
    if (y == height) {
      x += twist;
      y = 0;
    } else if (y < 0) {
      x += width - twist;
      y = height - 1;
    }
    return y * width + (x + width) % width;
  };
  auto graph = made("TwistedTorus" + numbers({width, height, twist}), int64_t{width} * height, 4,
                    [&](int v, std::vector<int>& heads) {
                      const int x = v % width;
                      const int y = v / width;
                      for (const int head : {at(x + 1, y), at(x - 1, y), at(x, y + 1), at(x, y - 1)}) {
                        heads.push_back(head);
                      }
                    });
  if (graph) {
    graph->grid = {height, width};
  }
  return graph;
}

Result<Digraph> twistedCube(int dimension) {
  constexpr int kMaxDimension = 18;
  if (dimension < 3 || dimension > kMaxDimension || dimension % 2 == 0) {
    return refused("a twisted cube has an odd dimension from 3 to 17, not " + std::to_string(dimension),
                   "give an odd dimension, 3 or more");
  }
  // Hilbers, Koopman and van de Snepscheut: the parity of the bits below a pair decides how the pair's upper bit is
  // linked.
  return made("TwistedCube(" + std::to_string(dimension) + ")", int64_t{1} << dimension, dimension,
              [&](int v, std::vector<int>& heads) {
                heads.push_back(v ^ 1);
                for (int bit = 1; bit < dimension; bit += 2) {
                  const auto below = static_cast<unsigned>(v) & ((1U << bit) - 1U);
                  const bool isOdd = std::popcount(below) % 2 == 1;
                  const int low = 1 << bit;
                  const int high = 1 << (bit + 1);
                  heads.push_back(isOdd ? v ^ low : v ^ high);
                  heads.push_back(v ^ low ^ high);
                }
              });
}

}  // namespace coppice::topology
