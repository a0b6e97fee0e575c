// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "forestcoll/fixed_k.hpp"
#include "forestcoll/network.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

int64_t floorProduct(const Rational& scale, int64_t bandwidth) {
  return narrow64(Int128{scale.numerator()} * bandwidth / scale.denominator());
}

/// sum floor(U * b) >= needed, wherever that leaves 64 bits.
bool reaches(std::span<const int64_t> bandwidths, const Rational& scale, int64_t needed) {
  Int128 sum = 0;
  for (const int64_t bandwidth : bandwidths) {
    sum += Int128{scale.numerator()} * bandwidth / scale.denominator();
    if (sum >= needed) {
      return true;
    }
  }
  return false;
}

/// Smallest U with sum floor(U * b) >= needed. It makes some U*b whole, so candidates are j/b per distinct b.
Rational minScaleForCut(std::vector<int64_t> bandwidths, int64_t needed) {
  std::sort(bandwidths.begin(), bandwidths.end());
  std::vector<int64_t> distinct = bandwidths;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  Rational best;
  for (const int64_t bandwidth : distinct) {
    int64_t low = 0;
    int64_t high = needed;  // floor(needed/b * b) alone suffices
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      (reaches(bandwidths, Rational(middle, bandwidth), needed) ? high : low) = middle;
    }
    const Rational candidate(high, bandwidth);
    if (best.isZero() || candidate < best) {
      best = candidate;
    }
  }
  return best;
}

}  // namespace

void requireFits(std::span<const TreeArc> capacities, const Network& network, int64_t k) {
  Int128 sum = Int128{k} * network.totalDemand;
  for (const TreeArc& arc : capacities) {
    sum += arc.capacity;
  }
  if (sum > std::numeric_limits<int64_t>::max() / 4) {
    throw OverflowError("the number of trees leaves the exact 64-bit range");
  }
}

std::vector<TreeArc> scaledArcs(const Network& network, const Rational& scale) {
  std::vector<TreeArc> arcs;
  arcs.reserve(network.arcs.size());
  for (const TreeArc& arc : network.arcs) {
    arcs.push_back({arc.tail, arc.head, floorProduct(scale, arc.capacity)});
  }
  return arcs;
}

std::vector<int64_t> supplies(const Network& network, int64_t k) {
  std::vector<int64_t> supply(network.nodeCount, 0);
  for (const int gpu : network.gpus) {
    supply[gpu] = checkedMul(k, network.demand[gpu]);
  }
  return supply;
}

Rational minScale(const Network& network, int64_t k, const Rational& start, const Progress& progress) {
  Rational scale = start;
  const std::vector<TreeArc> first = scaledArcs(network, scale);
  requireFits(first, network, k);
  flow::FeasibilityOracle<int64_t> oracle(network.nodeCount, first, supplies(network, k), network.gpus);
  const std::vector<int> order(oracle.sinkOrder().begin(), oracle.sinkOrder().end());
  std::vector<char> inSet(network.nodeCount, 0);
  for (const int sink : order) {
    throwIfCancelled(progress);
    while (oracle.flowInto(sink, oracle.target()) < oracle.target()) {
      bool isClosed = false;
      const int seeds[] = {sink};
      const std::vector<int> violated = oracle.reaching(seeds, isClosed);
      oracle.undo();
      std::fill(inSet.begin(), inSet.end(), char{0});
      int64_t inside = 0;
      for (const int node : violated) {
        inSet[node] = 1;
        inside = checkedAdd(inside, network.demand[node]);
      }
      std::vector<int64_t> entering;
      for (const TreeArc& arc : network.arcs) {
        if (inSet[arc.tail] == 0 && inSet[arc.head] != 0) {
          entering.push_back(arc.capacity);
        }
      }
      if (entering.empty()) {
        throw Failure{{ErrorCode::infeasible, "some GPUs cannot reach the others, so the collective can never finish",
                       "add links until every GPU reaches every other"}};
      }
      scale = minScaleForCut(std::move(entering), checkedMul(k, network.totalDemand - inside));
      const std::vector<TreeArc> arcs = scaledArcs(network, scale);
      requireFits(arcs, network, k);
      for (std::size_t i = 0; i < arcs.size(); ++i) {
        oracle.setCapacity(static_cast<int>(i), arcs[i].capacity);
      }
    }
    oracle.undo();
    oracle.absorb(sink);
  }
  return scale;
}

Rational nextScale(const Network& network, const Rational& scale) {
  Rational best;
  for (const TreeArc& arc : network.arcs) {
    const Rational candidate(checkedAdd<int64_t>(floorProduct(scale, arc.capacity), 1), arc.capacity);
    if (best.isZero() || candidate < best) {
      best = candidate;
    }
  }
  return best;
}

}  // namespace coppice::forestcoll
