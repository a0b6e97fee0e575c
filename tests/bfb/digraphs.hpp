// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numeric>
#include <random>
#include <vector>

#include "bfb/bfb.hpp"

/// Digraphs for tests, by their definitions.
namespace coppice::bfb::sample {

inline Digraph circulant(int n, const std::vector<int>& jumps) {
  Digraph graph{n, {}};
  for (int i = 0; i < n; ++i) {
    for (const int jump : jumps) {
      graph.links.push_back({i, ((i + jump) % n + n) % n, 1});
    }
  }
  return graph;
}

/// Both ways; a jump of n/2 is one link.
inline Digraph duplexCirculant(int n, const std::vector<int>& jumps) {
  std::vector<int> all;
  for (const int jump : jumps) {
    all.push_back(jump);
    if (2 * jump != n) {
      all.push_back(-jump);
    }
  }
  return circulant(n, all);
}

inline Digraph torus(const std::vector<int>& sizes) {
  const int n = std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
  Digraph graph{n, {}};
  for (int i = 0; i < n; ++i) {
    int stride = 1;
    for (const int size : sizes) {
      const int at = i / stride % size;
      graph.links.push_back({i, i + ((at + 1) % size - at) * stride, 1});
      if (size > 2) {
        graph.links.push_back({i, i + ((at + size - 1) % size - at) * stride, 1});
      }
      stride *= size;
    }
  }
  return graph;
}

inline Digraph hypercube(int dimensions) {
  return torus(std::vector<int>(static_cast<std::size_t>(dimensions), 2));
}

/// Generalized Kautz (Imase and Itoh): x -> -dx - a, a = 1 .. d.
inline Digraph generalizedKautz(int degree, int n) {
  Digraph graph{n, {}};
  for (int x = 0; x < n; ++x) {
    for (int a = 1; a <= degree; ++a) {
      graph.links.push_back({x, ((-degree * x - a) % n + n) % n, 1});
    }
  }
  return graph;
}

inline Digraph completeBipartite(int n) {
  Digraph graph{2 * n, {}};
  for (int i = 0; i < n; ++i) {
    for (int j = n; j < 2 * n; ++j) {
      graph.links.push_back({i, j, 1});
      graph.links.push_back({j, i, 1});
    }
  }
  return graph;
}

/// Nodes are the links of the graph; ab -> bc. Widths must be 1.
inline Digraph lineGraph(const Digraph& graph) {
  Digraph line{static_cast<int>(graph.links.size()), {}};
  for (std::size_t i = 0; i < graph.links.size(); ++i) {
    for (std::size_t j = 0; j < graph.links.size(); ++j) {
      if (graph.links[i].head == graph.links[j].tail) {
        line.links.push_back({static_cast<int>(i), static_cast<int>(j), 1});
      }
    }
  }
  return line;
}

/// A one-way cycle, so that all reach each other, and further links at random, of random widths.
inline Digraph random(int n, int extra, int maxWidth, std::mt19937& rng) {
  Digraph graph{n, {}};
  const auto draw = [&](int max) { return static_cast<int>(rng() % static_cast<unsigned>(max)); };
  for (int i = 0; i < n; ++i) {
    graph.links.push_back({i, (i + 1) % n, 1 + draw(maxWidth)});
  }
  for (int i = 0; i < extra; ++i) {
    graph.links.push_back({draw(n), draw(n), 1 + draw(maxWidth)});
  }
  return graph;
}

}  // namespace coppice::bfb::sample
