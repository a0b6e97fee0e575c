// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "fabric/fabric.hpp"

/// Small fabrics without any symmetry, from a seed.
namespace coppice::test {

struct RandomShape {
  int gpus = 4;
  int switches = 2;
  std::int64_t largestBandwidth = 9;
  bool duplex = true;  ///< false: a sum of random directed cycles, balanced but one-way
};

inline fabric::Description randomFabric(const RandomShape& shape, unsigned seed) {
  std::mt19937 random(seed);
  fabric::Description description;
  description.name = "random-" + std::to_string(seed);
  const int nodes = shape.gpus + shape.switches;
  for (int v = 0; v < nodes; ++v) {
    fabric::NodeDescription node;
    node.id = (v < shape.gpus ? "g" : "s") + std::to_string(v);
    node.kind = v < shape.gpus ? "gpu" : (v % 3 == 0 ? "nic" : "switch");
    description.nodes.push_back(node);
  }
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  const auto add = [&](int from, int to, std::int64_t bandwidth) {
    fabric::LinkDescription link;
    link.src = description.nodes[from].id;
    link.dst = description.nodes[to].id;
    link.bandwidth = std::to_string(bandwidth);
    link.duplex = shape.duplex;
    description.links.push_back(link);
  };
  std::vector<int> order(static_cast<std::size_t>(nodes));
  for (int v = 0; v < nodes; ++v) {
    order[v] = v;
  }
  std::shuffle(order.begin(), order.end(), random);
  if (shape.duplex) {
    for (std::size_t i = 1; i < order.size(); ++i) {  // a random tree joins everything
      add(order[i], order[pick(0, static_cast<std::int64_t>(i) - 1)], pick(1, shape.largestBandwidth));
    }
    for (int extra = static_cast<int>(pick(1, 2 * nodes)); extra > 0; --extra) {
      const int from = static_cast<int>(pick(0, nodes - 1));
      const int to = static_cast<int>(pick(0, nodes - 1));
      if (from != to) {
        add(from, to, pick(1, shape.largestBandwidth));
      }
    }
    return description;
  }
  for (int cycle = static_cast<int>(pick(2, 5)); cycle > 0; --cycle) {
    const std::int64_t bandwidth = pick(1, shape.largestBandwidth);
    std::shuffle(order.begin(), order.end(), random);
    // The first cycle visits every node, so that all are strongly connected.
    const std::size_t length =
        cycle == 1 ? order.size() : static_cast<std::size_t>(pick(2, static_cast<std::int64_t>(order.size())));
    for (std::size_t i = 0; i < length; ++i) {
      add(order[i], order[(i + 1) % length], bandwidth);
    }
  }
  return description;
}

/// max demand(S) / B+(S) over all S that miss some GPU's worth of demand, by listing every S. At most 16 nodes.
inline Rational bruteForceRatio(const fabric::Fabric& fabric, const std::vector<std::int64_t>& demandByRank) {
  const int nodes = fabric.nodeCount();
  Rational best;
  for (unsigned set = 1; set + 1 < (1U << nodes); ++set) {
    std::int64_t demand = 0;
    bool missesGpu = false;
    for (const int gpu : fabric.gpus()) {
      if ((set >> gpu & 1U) != 0) {
        demand += demandByRank[fabric.nodes()[gpu].rank];
      } else {
        missesGpu = true;
      }
    }
    if (demand == 0 || !missesGpu) {
      continue;
    }
    Rational exit;
    for (const fabric::Arc& arc : fabric.arcs()) {
      if ((set >> arc.tail & 1U) != 0 && (set >> arc.head & 1U) == 0) {
        exit += arc.bandwidth.gigabytesPerSecond();
      }
    }
    best = std::max(best, Rational(demand) / exit);
  }
  return best;
}

}  // namespace coppice::test
