// SPDX-License-Identifier: Apache-2.0
#include "live/cut_search.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "forestcoll/scaled_oracle.hpp"

namespace coppice::live {

using std::int64_t;

bool isLess(const WorstCut& a, const WorstCut& b) {
  return Int128{a.demand} * b.exit < Int128{b.demand} * a.exit;
}

CutProblem::CutProblem(forestcoll::Network given, std::vector<int> givenSinks,
                       std::shared_ptr<const EqualParts> givenParts)
    : network(std::move(given)), sinks(std::move(givenSinks)), parts(std::move(givenParts)) {
  ingress.assign(network.nodeCount, 0);
  for (const forestcoll::TreeArc& arc : network.arcs) {
    ingress[arc.head] = checkedAdd(ingress[arc.head], arc.capacity);
    totalCapacity += arc.capacity;
  }
  inArcs = numbersByRow<int>(network.nodeCount, network.arcs, &forestcoll::TreeArc::head);
}

struct CutSearch::Changes {
  const Trial& trial;
  std::unordered_map<int, int64_t> capacity;  ///< by arc, of those that change
  std::vector<char> isGone;                   ///< by node; empty = none
  std::vector<int> touched;                   ///< nodes whose parts are no longer equal to others
  int64_t total = 0;                          ///< demand of all that stay

  [[nodiscard]] bool isAlive(int node) const { return isGone.empty() || isGone[node] == 0; }
  [[nodiscard]] int64_t capacityOf(const forestcoll::Network& network, int arc) const {
    if (!capacity.empty()) {
      if (const auto changed = capacity.find(arc); changed != capacity.end()) {
        return changed->second;
      }
    }
    return network.arcs[arc].capacity * trial.denominator;
  }
};

CutSearch::Changes CutSearch::changesOf(const Trial& trial) const {
  const forestcoll::Network& network = m_problem.network;
  Changes changes{trial, {}, {}, {}, network.totalDemand};
  Int128 total = m_problem.totalCapacity * trial.denominator;
  for (const Trial::Capacity& each : trial.capacities) {
    const forestcoll::TreeArc& arc = network.arcs[each.arc];
    changes.capacity.emplace(each.arc, each.value);
    total += Int128{each.value} - Int128{arc.capacity} * trial.denominator;
    if (!trial.isSymmetric) {
      changes.touched.insert(changes.touched.end(), {arc.tail, arc.head});
    }
  }
  if (!trial.gone.empty()) {
    changes.isGone.assign(network.nodeCount, 0);
    for (const int node : trial.gone) {
      changes.isGone[node] = 1;
      changes.total -= network.demand[node];
    }
    changes.touched.insert(changes.touched.end(), trial.gone.begin(), trial.gone.end());
    for (std::size_t i = 0; i < network.arcs.size(); ++i) {
      if (changes.isGone[network.arcs[i].tail] != 0 || changes.isGone[network.arcs[i].head] != 0) {
        changes.capacity.insert_or_assign(static_cast<int>(i), 0);
      }
    }
  }
  // Every scaled capacity is at most the demand times c, and every supply at most a(v) times the whole capacity; a
  // residual pair holds two of them. Fractions as compared stay within twice the bits of both.
  constexpr Int128 kMax = Int128{1} << 62;
  constexpr Int128 kMaxProduct = Int128{1} << 122;
  if (total >= kMax || (changes.total > 0 && total >= kMaxProduct / changes.total)) {
    throw OverflowError("the bandwidths and amounts leave the exact range of flows");
  }
  return changes;
}

WorstCut CutSearch::ratioOf(std::vector<int> sinkSide, const Changes& changes) const {
  const forestcoll::Network& network = m_problem.network;
  std::vector<char> isIn(network.nodeCount, 0);
  WorstCut cut{changes.total, 0, std::move(sinkSide)};
  for (const int node : cut.sinkSide) {
    isIn[node] = 1;
    cut.demand -= changes.isAlive(node) ? network.demand[node] : 0;
  }
  for (const int node : cut.sinkSide) {
    for (const int arc : m_problem.inArcs[node]) {
      cut.exit += isIn[network.arcs[arc].tail] != 0 ? 0 : changes.capacityOf(network, arc);
    }
  }
  return cut;
}

WorstCut CutSearch::around(std::vector<int> sinkSide) const {
  const Trial none;
  return ratioOf(std::move(sinkSide), changesOf(none));
}

/// The worst of the sinks alone, and of what is known from the network as it is.
WorstCut CutSearch::start(const Changes& changes) const {
  const forestcoll::Network& network = m_problem.network;
  std::vector<int64_t> more(changes.capacity.empty() ? 0 : network.nodeCount, 0);  // by node: what enters it besides
  for (const auto& [arc, capacity] : changes.capacity) {
    more[network.arcs[arc].head] += capacity - network.arcs[arc].capacity * changes.trial.denominator;
  }
  WorstCut best;
  int witness = -1;
  for (const int sink : m_problem.sinks) {
    if (!changes.isAlive(sink) || changes.total == network.demand[sink]) {
      continue;
    }
    WorstCut alone{changes.total - network.demand[sink],
                   m_problem.ingress[sink] * changes.trial.denominator + (more.empty() ? 0 : more[sink]),
                   {}};
    if (isLess(best, alone)) {
      best = std::move(alone);
      witness = sink;
    }
  }
  if (witness >= 0) {
    best.sinkSide = {witness};
  }
  if (m_base && std::any_of(m_problem.sinks.begin(), m_problem.sinks.end(), [&](int sink) {
        return changes.isAlive(sink) && std::binary_search(m_base->sinkSide.begin(), m_base->sinkSide.end(), sink);
      })) {
    if (WorstCut known = ratioOf(m_base->sinkSide, changes); isLess(best, known)) {
      best = std::move(known);
    }
  }
  return best;
}

template <typename Cap>
void CutSearch::search(std::optional<Engine<Cap>>& engine, const Changes& changes, WorstCut& worst,
                       const Progress& progress) {
  const forestcoll::Network& network = m_problem.network;
  if (!engine) {
    engine.emplace(Engine<Cap>{forestcoll::scaledOracle<Cap>(network, 1, 1, m_problem.sinks), 1, 1});
  }
  flow::FeasibilityOracle<Cap>& oracle = engine->oracle;
  const auto setRatio = [&] {
    const int64_t divisor = std::gcd(worst.demand, worst.exit);
    const Cap each = worst.demand / divisor;
    const Cap scale = each * changes.trial.denominator;
    const Cap supplyScale = worst.exit / divisor;
    for (std::size_t i = 0; i < network.arcs.size() && scale != engine->scale; ++i) {
      oracle.setCapacity(static_cast<int>(i), Cap{network.arcs[i].capacity} * scale);
    }
    for (const auto& [arc, capacity] : changes.capacity) {
      oracle.setCapacity(arc, Cap{capacity} * each);
    }
    for (std::size_t i = 0; i < network.gpus.size() && supplyScale != engine->supplyScale; ++i) {
      oracle.setSupply(network.gpus[i], Cap{network.demand[network.gpus[i]]} * supplyScale);
    }
    for (const int node : changes.trial.gone) {
      oracle.setSupply(node, 0);
    }
    engine->scale = scale;
    engine->supplyScale = supplyScale;
  };
  const auto restore = [&] {
    oracle.undo();
    oracle.clearAbsorbed();
    for (const auto& [arc, capacity] : changes.capacity) {
      oracle.setCapacity(arc, Cap{network.arcs[arc].capacity} * engine->scale);
    }
    for (const int node : changes.trial.gone) {
      oracle.setSupply(node, Cap{network.demand[node]} * engine->supplyScale);
    }
  };

  std::vector<int> ownClasses;
  if (m_problem.parts && !changes.touched.empty()) {
    ownClasses = m_problem.parts->nodeClasses(changes.touched);
  } else if (m_problem.parts && m_baseClasses.empty()) {
    m_baseClasses = m_problem.parts->nodeClasses();
  }
  const std::vector<int>& classes = ownClasses.empty() ? m_baseClasses : ownClasses;
  std::vector<int> firstOf(classes.size(), -1);  // by class: a list of its sinks
  std::vector<int> next(classes.size(), -1);
  for (const int sink : m_problem.sinks) {
    if (!classes.empty()) {
      next[sink] = std::exchange(firstOf[classes[sink]], sink);
    }
  }
  const auto absorbClass = [&](int sink) {
    if (classes.empty()) {
      oracle.absorb(sink);
      return;
    }
    for (int image = std::exchange(firstOf[classes[sink]], -1); image >= 0; image = next[image]) {
      oracle.absorb(image);
    }
  };

  try {
    setRatio();
    std::size_t done = 0;
    for (const int sink : oracle.sinkOrder()) {
      ++done;
      if (!changes.isAlive(sink) || (!classes.empty() && firstOf[classes[sink]] < 0)) {
        continue;
      }
      throwIfCancelled(progress);
      if (done % 64 == 1) {
        progress.report("bound", static_cast<double>(done) / static_cast<double>(m_problem.sinks.size()));
      }
      while (oracle.flowInto(sink, oracle.target()) < oracle.target()) {
        bool isClosed = false;
        const int seeds[] = {sink};
        std::vector<int> violated = oracle.reaching(seeds, isClosed);
        oracle.undo();
        worst = ratioOf(std::move(violated), changes);
        if (worst.exit == 0) {
          restore();
          return;
        }
        setRatio();
      }
      oracle.undo();
      // No set with this sink is violated: those that also hold an earlier one were seen there. So none with an image
      // of the sink under an exchange is.
      absorbClass(sink);
    }
  } catch (...) {
    restore();
    throw;
  }
  restore();
}

const WorstCut& CutSearch::base(const Progress& progress) {
  if (!m_base) {
    WorstCut found = worst({}, progress);
    m_base = std::move(found);
  }
  return *m_base;
}

WorstCut CutSearch::worst(const Trial& trial, const Progress& progress) {
  throwIfCancelled(progress);
  const Changes changes = changesOf(trial);
  WorstCut worst = start(changes);
  if (worst.demand == 0 || worst.exit == 0) {
    return worst;
  }
  // Where the bound of changesOf() leaves a residual pair in 64 bits.
  const Int128 total = m_problem.totalCapacity * trial.denominator;
  Int128 raised = 0;
  for (const Trial::Capacity& each : trial.capacities) {
    raised += each.value;
  }
  if ((total + raised) * std::max<int64_t>(changes.total, 1) < (Int128{1} << 60)) {
    search(m_engine64, changes, worst, progress);
  } else {
    search(m_engine128, changes, worst, progress);
  }
  return worst;
}

}  // namespace coppice::live
