// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/minimum_k.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "base/checked.hpp"
#include "forestcoll/fixed_k.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

/// Links that leave the set, given as one flag per node.
std::vector<int64_t> leaving(const Network& network, const std::vector<char>& inSet) {
  std::vector<int64_t> bandwidths;
  for (const TreeArc& arc : network.arcs) {
    if (inSet[arc.tail] != 0 && inSet[arc.head] == 0) {
      bandwidths.push_back(arc.capacity);
    }
  }
  return bandwidths;
}

/// One GPU of each orbit of the network's symmetries, in the order given. Equal bandwidths have equal floors and equal
/// demands equal supplies, so the symmetry is one of the rounded capacities too: a violated set that holds some GPU has
/// an image, violated like it, that holds the one that stands for its orbit.
std::vector<int> oneOfEachOrbit(const Network& network, std::span<const int> gpus) {
  if (network.orbitOf.empty()) {
    return {gpus.begin(), gpus.end()};
  }
  std::vector<char> isSeen(network.nodeCount, 0);
  std::vector<int> chosen;
  for (const int gpu : gpus) {
    if (std::exchange(isSeen[network.orbitOf[gpu]], char{1}) == 0) {
      chosen.push_back(gpu);
    }
  }
  return chosen;
}

}  // namespace

MinimumK::MinimumK(const Network& network, const Rational& time, std::span<const schedule::Cut> tight, int64_t enough)
    : m_network(network), m_time(time), m_enough(enough) {
  std::vector<char> inSet(network.nodeCount);
  for (const schedule::Cut& cut : tight) {
    std::fill(inSet.begin(), inSet.end(), char{0});
    KnownCut known;
    for (const int node : cut.nodes) {
      inSet[node] = 1;
      known.demand = checkedAdd(known.demand, network.demand[node]);
    }
    known.bandwidths = leaving(network, inSet);
    Int128 exit = 0;
    for (const int64_t bandwidth : known.bandwidths) {
      exit += bandwidth;
    }
    if (Int128{known.demand} * time.denominator() != exit * time.numerator()) {
      continue;
    }
    for (const int64_t bandwidth : known.bandwidths) {
      // t*b = p*b/q with p and q coprime, so its denominator is q/gcd(q, b).
      const int64_t denominator = time.denominator() / std::gcd(time.denominator(), bandwidth);
      m_step = leastCommonMultiple(m_step, denominator);
    }
  }
}

int64_t MinimumK::next(const Progress& progress) {
  for (int64_t k = checkedAdd(m_last, m_step); k < m_enough; k = checkedAdd(k, m_step)) {
    throwIfCancelled(progress);
    if (!isRefusedByKnownCut(k, progress) && isFeasible(k, progress)) {
      return m_last = k;
    }
  }
  return m_last = m_enough;
}

bool MinimumK::isRefused(const KnownCut& cut, int64_t k) const {
  const Rational scale = m_time * Rational(k);
  const Int128 needed = Int128{k} * cut.demand;
  Int128 sum = 0;
  for (const int64_t bandwidth : cut.bandwidths) {
    sum += Int128{scale.numerator()} * bandwidth / scale.denominator();
    if (sum >= needed) {
      return false;
    }
  }
  return true;
}

bool MinimumK::isRefusedByKnownCut(int64_t k, const Progress& progress) {
  for (std::size_t i = 0; i < m_cuts.size(); ++i) {
    progress.spend(m_cuts[i].bandwidths.size());
    if (isRefused(m_cuts[i], k)) {
      std::rotate(m_cuts.begin(), m_cuts.begin() + static_cast<std::ptrdiff_t>(i),
                  m_cuts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return true;
    }
  }
  return false;
}

bool MinimumK::isFeasible(int64_t k, const Progress& progress) {
  constexpr std::size_t kMaxCuts = 256;
  constexpr std::size_t kCutsPerPass = 4;
  const std::vector<TreeArc> capacities = scaledArcs(m_network, m_time * Rational(k));
  requireFits(capacities, m_network, k);
  flow::FeasibilityOracle<int64_t> oracle(m_network.nodeCount, capacities, supplies(m_network, k), m_network.gpus);
  const auto violations = oracle.violationsAt(oneOfEachOrbit(m_network, oracle.sinkOrder()), kCutsPerPass, progress);
  for (const auto& violation : violations) {
    std::vector<char> inSet(m_network.nodeCount, 1);
    KnownCut cut;
    cut.demand = m_network.totalDemand;
    for (const int node : violation.nodes) {
      inSet[node] = 0;
      cut.demand -= m_network.demand[node];
    }
    cut.bandwidths = leaving(m_network, inSet);
    m_cuts.insert(m_cuts.begin(), std::move(cut));
  }
  if (m_cuts.size() > kMaxCuts) {
    m_cuts.resize(kMaxCuts);
  }
  return violations.empty();
}

}  // namespace coppice::forestcoll
