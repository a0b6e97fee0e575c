// SPDX-License-Identifier: Apache-2.0
#include "synth/cut_bound.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "base/checked.hpp"
#include "flow/max_flow.hpp"

namespace coppice::synth {
namespace {

constexpr std::int64_t kPlenty = std::int64_t{1} << 60;

/// Sets of sources, with how many classes of each a destination needs.
using Supply = std::map<std::vector<bool>, std::int64_t>;

struct Cut {
  Rational capacity;
  std::int64_t classes = 0;  ///< that must cross it
};

/// The minimum cut that lets through less than x chunks of each class in a round; nullopt where there is none.
std::optional<Cut> tightCut(const Topology& topology, const Supply& supply, int rank, const Rational& x,
                            std::int64_t denominator) {
  const int sets = static_cast<int>(supply.size());
  const int source = topology.fabricNodes + sets;
  flow::MaxFlow flow(source + 1);
  // Capacities are multiplied by both denominators.
  for (const PhysicalLink& link : topology.links) {
    const Rational whole = link.perRound * Rational(denominator) * Rational(x.denominator());
    flow.addArc(link.tail, link.head, whole.numerator());
  }
  std::int64_t wanted = 0;
  int set = topology.fabricNodes;
  for (const auto& [sources, classes] : supply) {
    const std::int64_t amount = checkedMul(checkedMul(classes, denominator), x.numerator());
    wanted = checkedAdd(wanted, amount);
    flow.addArc(source, set, amount);
    for (int node = 0; node < topology.nodes; ++node) {
      if (sources[node]) {
        flow.addArc(set, topology.gpus[node], kPlenty);
      }
    }
    ++set;
  }
  if (flow.run(source, topology.gpus[rank], wanted) >= wanted) {
    return std::nullopt;
  }
  const std::vector<bool> side = flow.sourceSide(source);
  Cut cut;
  for (const PhysicalLink& link : topology.links) {
    if (side[link.tail] && !side[link.head]) {
      cut.capacity += link.perRound;
    }
  }
  set = topology.fabricNodes;
  for (const auto& [sources, classes] : supply) {
    cut.classes += side[set++] ? classes : 0;
  }
  return cut;
}

}  // namespace

std::optional<Rational> cutBound(const Problem& problem, const Progress& progress) {
  const Topology& topology = problem.topology;
  if (topology.links.empty()) {
    return std::nullopt;
  }
  try {
    std::int64_t denominator = 1;
    Rational largest = 0;
    for (const PhysicalLink& link : topology.links) {
      denominator = leastCommonMultiple(denominator, link.perRound.denominator());
      largest += link.perRound;
    }
    // Chunks of each class per round; falls with every cut that is found.
    Rational x = largest;
    for (int rank = 0; rank < topology.nodes; ++rank) {
      throwIfCancelled(progress);
      Supply supply;
      for (const ChunkClass& chunks : problem.classes) {
        if (chunks.post[rank] && !chunks.pre[rank]) {
          ++supply[chunks.pre];
        }
      }
      while (const auto cut = tightCut(topology, supply, rank, x, denominator)) {
        if (cut->classes == 0 || cut->capacity >= x * Rational(cut->classes)) {
          return std::nullopt;  // cannot be
        }
        if (!cut->capacity.isPositive()) {
          return std::nullopt;  // not reached
        }
        x = cut->capacity / Rational(cut->classes);
      }
    }
    return x.inverse();
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

}  // namespace coppice::synth
